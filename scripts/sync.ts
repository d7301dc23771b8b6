/**
 * `npm run sync` writes every file, or part of one, that follows from the source; `npm run check:sync` writes nothing
 * and fails when one is out of step.
 */
import { readFile, writeFile } from "node:fs/promises";
import { BACKEND_PARTS } from "./sync/backends.ts";
import { COMMANDS } from "./sync/commands.ts";
import { MANIFEST } from "./sync/manifest.ts";
import { OPENAPI } from "./sync/openapi.ts";
import { OPTION_TABLES } from "./sync/option-tables.ts";
import { README_TABLE } from "./sync/readme.ts";
import { RECORDING } from "./sync/recording.ts";

const isCheck = process.argv.includes("--check");

for (const { path, source, write } of [
  ...BACKEND_PARTS,
  MANIFEST,
  README_TABLE,
  OPENAPI,
  COMMANDS,
  RECORDING,
  OPTION_TABLES,
]) {
  const file = new URL(`../${path}`, import.meta.url);
  const text = await readFile(file, "utf8").catch(() => "");
  const wanted = await write(text);
  if (text === wanted) continue;
  if (isCheck) {
    console.error(`${path} is out of step with ${source}: run \`npm run sync\``);
    process.exitCode = 1;
  } else {
    await writeFile(file, wanted);
    console.log(`${path} written`);
  }
}
if (isCheck && process.exitCode === undefined)
  console.log("Everything that is written from the source is in step with it");
