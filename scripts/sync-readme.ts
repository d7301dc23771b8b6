/**
 * Writes the README's table of backends from what each of them declares. With
 * `--check` it writes nothing and fails when the table is out of step.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BACKENDS, type BackendEntry } from "../src/backends/registry.ts";
import { CAPABILITY_FLAGS } from "../src/checkpoint/capabilities.ts";

const FILE = new URL("../README.md", import.meta.url);
const [START, END] = ["<!-- backends: written by npm run sync -->", "<!-- end of backends -->"];

type Cells = Readonly<Record<string, string>>;

/** Declared by a live instance, so that the table cannot say what the code does not. */
async function cellsOf({
  example,
  load,
  peers,
  builtIn,
  eitherPeer,
  capabilities,
  durability,
}: BackendEntry): Promise<Cells> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-readme-"));
  const checkpointer = (await load()).openUrl(example.replace("./", `${folder}/`));
  const can = checkpointer.capabilities;
  await checkpointer.close();
  await rm(folder, { recursive: true });
  const flags = Object.fromEntries(CAPABILITY_FLAGS.map((name) => [name, can[name] ? "yes" : "–"]));
  const known = { durability: can.durability, "search by": can.searchMethod, ...flags };
  const learnt =
    capabilities === "remote"
      ? Object.keys(known)
      : ["durability", ...CAPABILITY_FLAGS.filter((name) => name === "persistentCheckpointIds" && !can[name])];
  const source = capabilities === "remote" ? "the remote's" : durability === "configured" ? "as configured" : undefined;
  const packages = Object.keys(peers).join(eitherPeer === true ? " or " : " and ");
  return {
    URL: `\`${example}\``,
    needs: builtIn === undefined ? packages || "nothing" : `nothing ${builtIn}; before that ${packages}`,
    ...known,
    ...(source !== undefined && Object.fromEntries(learnt.map((name) => [name, source]))),
  };
}

/** With a page of its own where there is one; what is in memory needs no explanation. */
const linked = (title: string, page: string): string =>
  existsSync(new URL(`../${page}`, import.meta.url)) ? `[${title}](${page})` : title;

/** One line a backend. A flag that all of them have is said once, below. */
async function table(): Promise<string> {
  const backends = await Promise.all(
    Object.entries(BACKENDS).map(async ([name, entry]) => ({
      title: linked(entry.title, `docs/${name}.md`),
      cells: await cellsOf(entry),
    })),
  );
  const hasAll = (flag: string): boolean =>
    backends.every(({ cells }) => cells[flag] === "yes" || cells[flag] === "the remote's");
  const shared = CAPABILITY_FLAGS.filter(hasAll);
  const shown = ["URL", "needs", "durability", "search by", ...CAPABILITY_FLAGS.filter((flag) => !hasAll(flag))];
  const row = (cells: readonly (string | undefined)[]): string => `| ${cells.join(" | ")} |`;
  const code = (flag: string): string => `\`${flag}\``;
  const titled = shown.map((column) =>
    (CAPABILITY_FLAGS as readonly string[]).includes(column) ? code(column) : column,
  );
  return [
    row(["", ...titled]),
    row(["---", ...shown.map(() => "---")]),
    ...backends.map(({ title, cells }) => row([title, ...shown.map((column) => cells[column])])),
    "",
    `All of them have ${shared.map(code).join(", ")}.`,
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
