/** Pictures of every view of Studio, light, dark and narrow, for people to look at: `tsx test/wide/studio-screenshots.ts <folder>`. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openStudio, StudioFolder } from "../studio/opened-studio.ts";
import { fillItems, fillStory, StoryClock } from "../studio/story-store.ts";
import { VIEWS } from "./studio-views.ts";
import { chromiumPath, openChromium } from "./with-chromium.ts";

const [, , folder = "studio-pictures", only = ""] = process.argv;
await mkdir(folder, { recursive: true });
const place = await StudioFolder.make();
const clock = new StoryClock();
const checkpointer = place.open({ now: clock.now });
await fillStory(checkpointer, clock);
const items = place.items();
await fillItems(items);
clock.later(120_000);
const opened = await openStudio(checkpointer, {
  mayWrite: true,
  mayDelete: true,
  openItems: async () => items,
  now: clock.now,
});
const browser = await openChromium(chromiumPath() ?? "");
const looks = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 860 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  { name: "narrow", colorScheme: "light", viewport: { width: 390, height: 844 } },
] as const;
for (const { name, ...look } of looks) {
  if (only !== "" && !only.includes(name)) continue;
  const context = await browser.newContext(look);
  await context.clock.setFixedTime(clock.now());
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(name, error.message));
  page.on("console", (message) => message.type() === "error" && console.error(name, message.text()));
  await page.goto(opened.studio.url);
  for (const view of VIEWS) {
    if (process.argv[4] !== undefined && !view.name.includes(process.argv[4])) continue;
    await page.evaluate(`location.hash = ${JSON.stringify(view.address)}`);
    await page.locator(view.ready).first().waitFor();
    await view.prepare?.(page);
    await page.waitForLoadState("networkidle", { timeout: 1500 }).catch(() => undefined);
    await page.screenshot({ path: join(folder, `${view.name}-${name}.png`) });
    await page.keyboard.press("Escape");
  }
  await context.close();
}
await browser.close();
await opened.close();
await items.close();
await checkpointer.close();
await place.dispose();
