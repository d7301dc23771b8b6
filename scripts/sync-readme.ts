/**
 * Writes the README's table of backends from what each of them declares. With
 * `--check` it writes nothing and fails when the table is out of step.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BACKENDS } from "../src/backends/registry.ts";
import { CAPABILITY_FLAGS, type CheckpointerCapabilities } from "../src/checkpoint/capabilities.ts";

const FILE = new URL("../README.md", import.meta.url);
const [START, END] = ["<!-- backends: written by npm run sync -->", "<!-- end of backends -->"];

/** Declared by a live instance, so that the table cannot say what the code does not. A remote one says what is behind it. */
async function declared({
  example,
  load,
  capabilities,
}: (typeof BACKENDS)[string]): Promise<CheckpointerCapabilities | undefined> {
  if (capabilities === "remote") return undefined;
  const folder = await mkdtemp(join(tmpdir(), "holdfast-readme-"));
  const checkpointer = (await load()).openUrl(example.replace("./", `${folder}/`));
  try {
    return checkpointer.capabilities;
  } finally {
    await checkpointer.close();
    await rm(folder, { recursive: true });
  }
}

async function table(): Promise<string> {
  const names = Object.keys(BACKENDS);
  const columns = await Promise.all(Object.values(BACKENDS).map(declared));
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const flag = (value: boolean | undefined): string => (value === undefined ? "the remote's" : value ? "yes" : "–");
  return [
    row(["", ...names]),
    row(["---", ...names.map(() => "---")]),
    row(["URL", ...Object.values(BACKENDS).map(({ example }) => `\`${example}\``)]),
    row(["needs", ...Object.values(BACKENDS).map(({ peers }) => Object.keys(peers).join(", ") || "nothing")]),
    row(["durability", ...columns.map((column) => column?.durability ?? "the remote's")]),
    row(["search by", ...columns.map((column) => column?.searchMethod ?? "the remote's")]),
    ...CAPABILITY_FLAGS.map((name) => row([`\`${name}\``, ...columns.map((column) => flag(column?.[name]))])),
  ].join("\n");
}

const text = await readFile(FILE, "utf8");
const [before, rest] = text.split(START);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`README.md lacks the lines ${START} and ${END}`);
const wanted = `${before}${START}\n${await table()}\n${END}${after}`;
if (text === wanted) console.log("README.md is in step with the source");
else if (process.argv.includes("--check")) {
  console.error("README.md's table is out of step with what the backends declare: run `npm run sync`");
  process.exitCode = 1;
} else {
  await writeFile(FILE, wanted);
  console.log("README.md written");
}
