/**
 * Writes the reference in docs/cli.md from the table of commands. With `--check`
 * it writes nothing and fails when the page is out of step.
 */
import { readFile, writeFile } from "node:fs/promises";
import { referenceOfCommands } from "../src/cli/reference.ts";

const FILE = new URL("../docs/cli.md", import.meta.url);
const MARK = "<!-- from here on written from src/cli/commands.ts by `npm run sync` -->\n";

const text = await readFile(FILE, "utf8");
const [before = ""] = text.split(MARK);
const wanted = `${before}${MARK}\n${referenceOfCommands()}\n`;
if (text === wanted) console.log("docs/cli.md is in step with the table of commands");
else if (process.argv.includes("--check")) {
  console.error("docs/cli.md is out of step with src/cli/commands.ts: run `npm run sync`");
  process.exitCode = 1;
} else {
  await writeFile(FILE, wanted);
  console.log("docs/cli.md written");
}
