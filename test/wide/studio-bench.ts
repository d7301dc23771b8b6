import type { Page } from "playwright-core";
import { milliseconds, renderTable } from "../../bench/table.ts";
import type { Verdict } from "../../bench/targets.ts";
import { saveLongThread } from "../studio/long-thread.ts";
import { openStudio, StudioFolder } from "../studio/opened-studio.ts";
import { fillStory, StoryClock } from "../studio/story-store.ts";
import { chromiumPath, openChromium } from "./with-chromium.ts";

const MESSAGES = 100_000;
const ROUNDS = 20;

/** What a user does, and what they see when it is done. All of it runs in the page. */
interface Interaction {
  readonly name: string;
  readonly begin: string;
  readonly act: string;
  readonly done: string;
}

const key = (name: string): string => `dispatchEvent(new KeyboardEvent("keydown", { key: "${name}", bubbles: true }))`;
const hash = (address: string): string => `location.hash = ${JSON.stringify(address)}`;
const has = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}) !== null`;
const CONVERSATION = { address: "#/t/long/messages?m=50000", ready: has("[data-message='49999']") };

const INTERACTIONS: readonly Interaction[] = [
  {
    name: "open a thread",
    begin: hash("#/threads"),
    act: hash("#/t/long/messages"),
    done: has(`[data-message="${MESSAGES - 1}"]`),
  },
  {
    name: "jump to the end",
    begin: hash(CONVERSATION.address),
    act: key("G"),
    done: has(`[data-message="${MESSAGES - 1}"]`),
  },
  {
    name: "next problem",
    begin: hash(CONVERSATION.address),
    act: key("n"),
    done: "location.hash !== '#/t/long/messages?m=50000' && document.querySelector('.message.selected.failed') !== null",
  },
  {
    name: "open a diff",
    begin: hash("#/threads"),
    act: "location.hash = globalThis.diffAddress",
    done: has(".shared"),
  },
  {
    name: "type in the filter",
    begin: hash("#/threads"),
    act: "{ const field = document.querySelector('.filters input'); field.value = 'billing'; field.dispatchEvent(new Event('input', { bubbles: true })); }",
    done: "document.querySelectorAll('table.threads tbody tr').length === 1",
  },
];

/** From the act to the frame that shows it. */
const MEASURE = `async ({ act, done }) => {
  const begun = performance.now();
  (0, eval)(act);
  while (!(0, eval)(done)) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}`;

/** The first view and five interactions on a thread of 100,000 messages. */
export async function benchStudio(): Promise<{ readonly verdicts: readonly Verdict[] } | undefined> {
  const path = chromiumPath();
  if (path === undefined) {
    console.log("Studio was not measured: there is no chromium on this machine");
    return undefined;
  }
  const place = await StudioFolder.make();
  const checkpointer = place.open();
  await fillStory(checkpointer, new StoryClock());
  await saveLongThread(checkpointer, "long", MESSAGES);
  const [newest, older] = await checkpointer.listCheckpoints("long", 2);
  const browser = await openChromium(path);
  const rows: [name: string, limit: number, times: number[]][] = [];
  const first: number[] = [];
  for (let round = 0; round < 5; round++) {
    // A Studio of its own each time: nothing was read before.
    const opened = await openStudio(checkpointer);
    const page = await browser.newPage();
    await page.goto(`${opened.studio.url}`);
    await page.locator("#main").waitFor();
    const begun = performance.now();
    await page.goto(`${opened.studio.origin}/?${round}#/t/long/messages`);
    await page.locator(`[data-message="${MESSAGES - 1}"]`).waitFor();
    first.push(performance.now() - begun);
    await page.close();
    await opened.close();
  }
  rows.push(["first view", 1000, first]);
  const opened = await openStudio(checkpointer);
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  await page.goto(opened.studio.url);
  const address = new URLSearchParams({
    a: "long",
    aAt: older?.checkpointId ?? "",
    b: "long",
    bAt: newest?.checkpointId ?? "",
  });
  await page.evaluate(`globalThis.diffAddress = "#/diff?${address}"`);
  for (const interaction of INTERACTIONS) rows.push([interaction.name, 100, await timesOf(page, interaction)]);
  await browser.close();
  await opened.close();
  await checkpointer.close();
  await place.dispose();
  console.log(
    renderTable(
      ["Studio, 100,000 messages on SQLite", "p50", "p95"],
      rows.map(([name, , times]) => [name, milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.95))]),
    ),
  );
  return {
    verdicts: rows.map(([name, limit, times]) => {
      const measured = quantile(times, 0.95);
      return {
        target: `Studio: ${name} within ${limit} ms at p95`,
        limit,
        measured,
        shown: milliseconds(measured),
        met: measured <= limit,
      };
    }),
  };
}

async function timesOf(page: Page, { begin, act, done }: Interaction): Promise<number[]> {
  const times: number[] = [];
  // The first round reads what is cached afterwards: the page is measured as a user finds it who works with
  // it.
  for (let round = 0; round <= ROUNDS; round++) {
    await page.evaluate(begin);
    await page.waitForFunction(begin.includes("threads") ? has("table.threads") : CONVERSATION.ready);
    await page.waitForTimeout(200);
    const took = (await page.evaluate(`(${MEASURE})(${JSON.stringify({ act, done })})`)) as number;
    if (round > 0) times.push(took);
    await page.evaluate("location.hash = '#/health'");
    await page.locator(".facts-list").first().waitFor();
  }
  return times;
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
