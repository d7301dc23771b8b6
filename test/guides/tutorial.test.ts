import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { savePrograms, typeCommands } from "../../scripts/package/follow-page.ts";
import { linkPackage, WITH_TYPESCRIPT } from "../linked-package.ts";
import { describeWithService } from "../services/with-service.ts";

const page = await readFile(new URL("../../docs/tutorial.md", import.meta.url), "utf8");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-tutorial-"));
  await linkPackage(folder);
  await savePrograms(page, folder);
});
afterEach(() => rm(folder, { recursive: true }));

test("every command of the tutorial prints what the page says, in an empty folder and without a network", async () => {
  const { DATABASE_URL: _, ...env } = process.env;
  const typed = await typeCommands(page, folder, { ...env, ...WITH_TYPESCRIPT });
  expect(typed.map(({ command }) => command)).toContain('CRASH=1 node shop.mjs order-2 "Charge 40 euros."');
  expect(typed).toHaveLength(page.match(/^\$ /gm)?.length ?? 0);
});

await describeWithService("postgres", (url) => {
  test("its last step works on PostgreSQL: two processes, one charge", async () => {
    const database = new URL(url);
    database.searchParams.set("schema", `tutorial_${process.pid}`);
    const step = page.slice(page.indexOf("## 6."));
    const session = step.replace(/^(20|40) euros, …\n/gm, "");
    const typed = await typeCommands(session, folder, {
      ...process.env,
      ...WITH_TYPESCRIPT,
      DATABASE_URL: database.href,
    });
    expect(typed.at(-1)?.printed).toMatch(/^60 euros, [0-9a-f-]{36}$/);
  });
});
