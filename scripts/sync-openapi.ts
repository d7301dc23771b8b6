/**
 * Writes docs/openapi.json from the table of routes. With `--check` it writes
 * nothing and fails when the description is out of step.
 */
import { readFile, writeFile } from "node:fs/promises";
import { describeProtocol } from "../src/wire/openapi.ts";

const FILE = new URL("../docs/openapi.json", import.meta.url);

const text = await readFile(FILE, "utf8").catch(() => "");
const wanted = `${JSON.stringify(describeProtocol(), null, 2)}\n`;
if (text === wanted) console.log("docs/openapi.json is in step with the source");
else if (process.argv.includes("--check")) {
  console.error("docs/openapi.json is out of step with the routes in src/wire: run `npm run sync`");
  process.exitCode = 1;
} else {
  await writeFile(FILE, wanted);
  console.log("docs/openapi.json written");
}
