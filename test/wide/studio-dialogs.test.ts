import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import type { Checkpointer } from "../../src/index.ts";
import { CorePersonalData } from "../../src/session/personal-data.ts";
import type { CaseLine } from "../../src/studio/service-api.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "../agent/agent-of.ts";
import { type OpenedStudio, openStudio, StudioFolder } from "../studio/opened-studio.ts";
import { fillItems, fillStory, StoryClock } from "../studio/story-store.ts";
import { describeWithChromium } from "./with-chromium.ts";

// A browser on a busy machine is slow; these only end what hangs.
/** What the proofs of the store itself tell; the real ones run in answers.test.ts. */
async function* provesCases(): AsyncGenerator<CaseLine> {
  yield { type: "progress", done: 1, of: 2 };
  yield { type: "failed", area: "append", name: "a case <b>of</b> ours", message: "it is not so" };
  yield { type: "end", passed: 1, failed: 1, notApplicable: 0, leftBehind: 0 };
}

describeWithChromium("the dialogs of Studio", (open) => {
  let browser: Browser;
  let place: StudioFolder;
  let checkpointer: Checkpointer;
  let opened: OpenedStudio;
  let context: BrowserContext;
  beforeAll(async () => {
    place = await StudioFolder.make();
    const clock = new StoryClock();
    checkpointer = place.open({ now: clock.now });
    const items = place.items();
    await fillStory(checkpointer, clock);
    await fillItems(items);
    await items.put(["notes"], "n1", "likes tea", { metadata: { subject: "cleo" } });
    const ledger = new InMemoryStore();
    const key = "k".repeat(32);
    const people = new CorePersonalData({
      now: clock.now,
      key,
      open: async () => ({ checkpointers: [checkpointer], stores: [items], ledger }),
    });
    const rights = { mayWrite: true, mayDelete: true, canErase: true };
    opened = await openStudio(checkpointer, { ...rights, openItems: async () => items, people, provesCases });
    browser = await open();
  });
  afterAll(async () => {
    await browser?.close();
    await opened?.close();
    await checkpointer?.close();
    await place?.dispose();
  });
  afterEach(() => context?.close());

  async function openAt(address: string, ready: string): Promise<Page> {
    context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(opened.studio.url);
    await page.locator("#main").waitFor();
    await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
    await page.locator(ready).first().waitFor();
    return page;
  }
  const submit = async (page: Page): Promise<void> => {
    await page.locator("dialog[open] button[type=submit]").click();
    await page.locator("dialog").waitFor({ state: "detached" });
  };

  test("a call that waits for leave is approved with other arguments, as JSON and no other text", async () => {
    const page = await openAt("#/inbox", ".inbox .card");
    const card = page.locator(".inbox .card", { hasText: "roll_back_deploy" });
    await card.getByRole("button").click();
    await page.getByRole("radio", { name: "Approve with these arguments" }).check();
    const text = page.getByLabel("Arguments, as JSON");
    await text.fill("{");
    await page.getByText("This is not JSON yet.").waitFor();
    expect(await page.locator("dialog[open] button[type=submit]").isDisabled()).toBe(true);
    await text.fill('{"service":"checkout","to":"1.41.1"}');
    await submit(page);
    await card.waitFor({ state: "detached" });
    const ran: unknown[] = [];
    const rollBack = tool({
      name: "roll_back_deploy",
      inputSchema: { type: "object" },
      effect: "idempotent",
      needsApproval: true,
      execute: async (given) => void ran.push(given),
    });
    const agent = agentOf({ model: scriptedModel(["rolled back"]), tools: [rollBack], checkpointer });
    expect((await agent.run(undefined, { threadId: "on-call/2026-11-14" })).text).toBe("rolled back");
    expect(ran).toEqual([{ service: "checkout", to: "1.41.1" }]);
    const [asked] = (await checkpointer.load("on-call/2026-11-14"))?.interrupts ?? [];
    expect(asked?.answer?.value).toEqual({ decision: "edit", arguments: { service: "checkout", to: "1.41.1" } });
  });

  test("a call in doubt is said not to have happened, and only the model may run the tool again", async () => {
    const page = await openAt("#/t/billing-7/ledger", ".doubts");
    await page.getByRole("button", { name: "Say how it ended" }).click();
    await page.getByRole("radio", { name: "It did not happen" }).check();
    await page.getByLabel("Who says so").fill("ben");
    await submit(page);
    const state = await checkpointer.load("billing-7");
    expect(state?.toolExecutions[0]).toMatchObject({ status: "failed", settledBy: { by: "ben" } });
  });

  test("a fork keeps open calls where that is asked for", async () => {
    const page = await openAt("#/t/trip-42/messages", "article[data-message]");
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    await page.locator("dialog[open] input").first().fill("trip-42-open");
    await page.getByRole("radio", { name: /Run them in the fork as well/ }).check();
    await submit(page);
    const fork = await checkpointer.load("trip-42-open");
    expect(fork?.toolExecutions.some(({ status }) => status === "waiting")).toBe(true);
  });

  test("a thread is taken from its holder, who is told at the next save", async () => {
    await checkpointer
      .withLease(
        "support/1041",
        async (lease) => {
          const page = await openAt("#/t/support%2F1041/messages", "article[data-message]");
          await page.getByRole("button", { name: "Take it from them" }).click();
          expect(await page.locator("dialog[open]").textContent()).toContain("a worker");
          await submit(page);
          expect(await checkpointer.leaseOf("support/1041")).toBe(undefined);
          const state = await checkpointer.load("support/1041");
          if (state === undefined) throw new Error("the thread is gone");
          const save = checkpointer.save(state.withMetadata({ late: true }), "support/1041", { lease });
          await expect(save).rejects.toMatchObject({ code: "CONFLICT" });
        },
        { owner: "a worker", ttlMs: 600_000 },
      )
      .catch((error: unknown) => {
        if ((error as { code?: string }).code !== "CONFLICT") throw error;
      });
  });

  test("a person is looked up, erased after the id was typed, and the receipt says that nothing is left", async () => {
    const page = await openAt("#/people", "main input");
    await page.locator("main input").first().fill("cleo");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Erase …" }).click();
    const erase = page.locator("dialog[open] button[type=submit]");
    expect(await erase.isDisabled()).toBe(true);
    await page.getByLabel(/to confirm/).fill("cleo");
    await erase.click();
    const receipt = page.locator("dialog[open]", { hasText: "Receipt 1" });
    await receipt.waitFor();
    expect(await receipt.textContent()).toContain("A second look found nothing more.");
    await page.keyboard.press("Escape");
    await page.getByText("Nothing is kept about this person").waitFor();
  });

  test("the proofs show what records and what the store itself were found to be", async () => {
    const page = await openAt("#/health", ".proofs");
    await page.getByRole("button", { name: "Run the proofs" }).click();
    await page.getByText("1 case passed, 1 failed, 0 not applicable").waitFor();
    const shown = await page.locator(".proofs").textContent();
    expect(shown).toContain("append: a case <b>of</b> ours: it is not so");
    expect(shown).toContain("proven");
    await page.getByRole("button", { name: "Run the proofs" }).waitFor();
  });
});
