import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../src/entry/store.ts";
import type { Checkpointer } from "../../src/index.ts";
import { type OpenedStudio, openStudio, StudioFolder } from "../studio/opened-studio.ts";
import { fillItems, fillStory, StoryClock } from "../studio/story-store.ts";
import { VIEWS } from "./studio-views.ts";
import { describeWithChromium } from "./with-chromium.ts";

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

const LOOKS = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 860 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  { name: "narrow and light", colorScheme: "light", viewport: { width: 390, height: 844 } },
  { name: "narrow and dark", colorScheme: "dark", viewport: { width: 390, height: 844 } },
] as const;

describeWithChromium("Studio is accessible", (open) => {
  let browser: Browser;
  let place: StudioFolder;
  let checkpointer: Checkpointer;
  let items: Store;
  let opened: OpenedStudio;
  let axe = "";
  beforeAll(async () => {
    axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    place = await StudioFolder.make();
    const clock = new StoryClock();
    checkpointer = place.open({ now: clock.now });
    items = place.items();
    await fillStory(checkpointer, clock);
    await fillItems(items);
    opened = await openStudio(checkpointer, { mayWrite: true, mayDelete: true, openItems: async () => items });
    browser = await open();
  });
  afterAll(async () => {
    await browser?.close();
    await opened?.close();
    await checkpointer?.close();
    await place?.dispose();
  });

  /** WCAG 2.2, A and AA. */
  async function findings(page: Page): Promise<readonly string[]> {
    const run =
      "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'] })";
    const { violations } = (await page.evaluate(run)) as { violations: readonly Finding[] };
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  }

  describe.each(LOOKS)("$name", ({ name: _, ...look }) => {
    test("axe finds nothing in any view, and no view is wider than the window", async () => {
      // The page's policy forbids what the checker needs to be put in; what is checked is the page and not the policy.
      const context = await browser.newContext({ ...look, bypassCSP: true });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(opened.studio.url);
      await page.evaluate(axe);
      const found: Record<string, readonly string[]> = {};
      for (const view of VIEWS) {
        await page.evaluate(`location.hash = ${JSON.stringify(view.address)}`);
        await page.locator(view.ready).first().waitFor();
        await view.prepare?.(page);
        await page.locator(".loading").waitFor({ state: "detached" });
        const [all, isWide] = [
          await findings(page),
          await page.evaluate("document.documentElement.scrollWidth > innerWidth"),
        ];
        if (all.length > 0 || isWide === true)
          found[view.name] = [...all, ...(isWide === true ? ["wider than the window"] : [])];
        await page.keyboard.press("Escape");
      }
      expect(found).toEqual({});
      await context.close();
    });
  });
});
