import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import { Checkpointer } from "../../src/index.ts";
import { FaultyLog } from "../../src/testing/faulty-log.ts";
import { type OpenedStudio, openStudio } from "../studio/opened-studio.ts";
import { fillStory, StoryClock } from "../studio/story-store.ts";
import { describeWithChromium } from "./with-chromium.ts";

// A browser on a busy machine is slow; these only end what hangs.
describeWithChromium("Studio and a store that comes and goes", (open) => {
  let browser: Browser;
  let opened: OpenedStudio;
  let isGone = false;
  let damaged = "";
  beforeAll(async () => {
    const memory = new MemoryLog();
    const log = new FaultyLog(memory, { faultAt: () => (isGone ? { when: "before" } : undefined) });
    // One head that no reader understands stands in no other thread's way.
    const listed = log.listThreads;
    Object.defineProperty(log, "listThreads", {
      value: async (options: Parameters<typeof listed>[0]) => {
        const { items, cursor } = await listed(options);
        return {
          cursor,
          items: items
            .filter(isReadable)
            .map((item) => (item.threadId === damaged ? { ...item, head: { ...item.head, header: "{" } } : item)),
        };
      },
    });
    const checkpointer = new Checkpointer(log, { retry: { attempts: 1 } });
    await fillStory(checkpointer, new StoryClock());
    damaged = "support/1040";
    opened = await openStudio(checkpointer);
    browser = await open();
  });
  afterAll(async () => {
    await browser?.close();
    await opened?.close();
  });

  test("while the store does not answer a banner says so and nothing is lost; when it is back the page goes on by itself", async () => {
    const page = await browser.newPage();
    await page.goto(opened.studio.url);
    await page.locator("table.threads").waitFor();
    isGone = true;
    await page.evaluate("location.hash = '#/t/trip-42/messages'");
    await page.locator(".banner").waitFor();
    expect(await page.locator(".banner").textContent()).toContain("does not answer");
    isGone = false;
    await page.locator("article[data-message]").first().waitFor();
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.close();
  });

  test("a thread whose head cannot be read is shown as damaged, among the others", async () => {
    const page = await browser.newPage();
    await page.goto(opened.studio.url);
    const row = page.locator("tr", { hasText: "support/1040" });
    await row.waitFor();
    expect(await row.textContent()).toContain("damaged");
    expect(await page.locator("table.threads tbody tr").count()).toBe(14);
    await page.close();
  });

  test("when Studio's process is gone the page says so, and does not pretend", async () => {
    const second = await openStudio(opened.checkpointer);
    const page = await browser.newPage();
    await page.goto(second.studio.url);
    await page.locator("table.threads").waitFor();
    await second.close();
    await page.evaluate("location.hash = '#/inbox'");
    await page.locator(".banner").waitFor();
    expect(await page.locator(".banner").textContent()).toContain("process does not answer");
    await page.close();
  });
});
