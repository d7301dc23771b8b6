/** The README's table of backends, from what each of them declares. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BACKENDS, type BackendEntry } from "../../src/backends/registry.ts";
import { CAPABILITY_FLAGS } from "../../src/checkpoint/capabilities.ts";
import { between, type SyncedPart } from "./part.ts";

const MARKS = ["<!-- backends: written by npm run sync -->", "<!-- end of backends -->"] as const;

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
  existsSync(new URL(`../../${page}`, import.meta.url)) ? `[${title}](${page})` : title;

/** One line for each backend. A flag that all of them have is stated once, below. */
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

export const README_TABLE: SyncedPart = {
  path: "README.md",
  source: "src/backends/registry.ts and the flags that each backend declares",
  write: (text) => between(text, MARKS, table),
};
