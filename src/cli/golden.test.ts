import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdfast, NOW } from "../../test/cli/fake-world.ts";
import {
  CORPORA,
  type Corpus,
  type FilledStore,
  filledStore,
  fillItems,
  textsOf,
} from "../../test/cli/filled-stores.ts";
import {
  ON_FILES,
  ON_HOLDS,
  ON_ITEMS,
  ON_THREADS,
  ON_WRITABLE,
  WITHOUT,
  withoutChance,
} from "../../test/cli/golden-calls.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { COMMANDS } from "./commands.ts";

test("every command of the table has its golden outputs, or a reason to have none", () => {
  const tables = [ON_THREADS, ON_ITEMS, ON_HOLDS, ON_FILES, ON_WRITABLE, WITHOUT];
  const known = tables.flatMap((table) => Object.keys(table));
  expect(known.sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
});

const OUTPUTS: Readonly<Record<string, { readonly terminal: boolean; readonly more: readonly string[] }>> = {
  terminal: { terminal: true, more: [] },
  pipe: { terminal: false, more: [] },
  json: { terminal: false, more: ["-o", "json"] },
  ndjson: { terminal: false, more: ["-o", "ndjson"] },
};

const OPTION = /^--\w/;

/** A cell of 100,000 characters is the same text again and again: its length says enough. */
const shortened = (text: string): string => text.replace(/(?:wide ){50,}/g, (found) => `<${found.length} characters>`);

const env = { ERASURE_KEY: "a key for the receipts of golden outputs" };

/** All that a test calls commands with. */
interface Place {
  readonly corpus: Corpus;
  readonly store: FilledStore;
  /** What stands for `{name}` in the words of a call. */
  readonly named: Readonly<Record<string, string>>;
  readonly typed?: string;
}

/** Runs a command in every format, holds what it printed to the golden file. */
async function assertPrinted({ corpus, store, named, typed = "" }: Place, command: string, args: readonly string[]) {
  const all: Readonly<Record<string, string>> = { "{}": store.thread, "{new}": `${store.url}-new`, ...named };
  const words = args.map((word) => word.replace(/\{\w*\}/, (name) => all[name] ?? name));
  // Behind "--" a thread may begin with a hyphen.
  const [options, rest] = [words.filter((word) => OPTION.test(word)), words.filter((word) => !OPTION.test(word))];
  const url = Object.hasOwn(ON_FILES, command) ? [] : [store.url];
  const outcomes: string[] = [];
  for (const [name, { terminal, more }] of Object.entries(OUTPUTS)) {
    const argv = [...command.split(" "), ...more, ...options, "--", ...url, ...rest];
    const { code, stdout, stderr } = await holdfast(argv, { terminal, typed, env });
    const shown = withoutChance(shortened(`${stdout}--- stderr\n${stderr}`)).replaceAll(store.directory, "/somewhere");
    // An export is the same file in every format.
    const isAgain = command.startsWith("export") && outcomes[0]?.endsWith(`\n${shown}`);
    outcomes.push(`--- ${name}: ${code}\n${isAgain ? "the same again\n" : shown}`);
    // The file of an export is lines of JSON, whatever is asked for.
    const isDocument = name === "json" && !command.startsWith("export");
    if (isDocument && stdout !== "") JSON.parse(stdout);
    else if (name.endsWith("json")) for (const line of stdout.trim().split("\n")) if (line !== "") JSON.parse(line);
    // Bold is ours; whatever else a terminal would obey came from the store.
    const plain = `${stdout}${stderr}`.replaceAll("\u001b[1m", "").replaceAll("\u001b[22m", "");
    expect(plain).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  }
  const file = `../../test/golden/cli/${corpus}-${command.replace(" ", "-")}.txt`;
  await expect(outcomes.join("\n")).toMatchFileSnapshot(file);
}

async function assertAsBefore(place: Place, command: string, args: readonly string[]) {
  const before = await hashedFiles(place.store.directory);
  await assertPrinted(place, command, args);
  expect(await hashedFiles(place.store.directory)).toEqual(before);
}

/** One for each of these reasons; returns the id of the first. */
async function placeHolds({ url }: FilledStore, reasons: readonly string[]): Promise<string> {
  const ids: string[] = [];
  for (const [at, reason] of reasons.entries()) {
    const whom = at % 2 === 0 ? `--subject=who wrote ${reason.replace(/\p{Cc}/gu, "")}` : `--threads=trip-${at}`;
    const argv = ["hold", "place", url, whom, `--reason=${reason}`, `--by=${reason}`, "-o", "json"];
    const { code, stdout } = await holdfast(argv, { now: () => NOW + at });
    expect(code).toBe(0);
    ids.push(JSON.parse(stdout).id);
  }
  return ids[0] ?? "no such hold";
}

/** The receipts of erasures for these reasons, as a file. */
async function writeReceipts({ url, directory }: FilledStore, reasons: readonly string[]): Promise<void> {
  await writeFile(`${directory}/receipts.ndjson`, "");
  for (const reason of reasons) {
    const where = [`--ledger=sqlite:${directory}/ledger.db`, `--receipt=${directory}/receipts.ndjson`];
    const argv = ["erase", url, "absent", `--reason=${reason}`, "--key=env:ERASURE_KEY", "--yes", ...where];
    expect((await holdfast(argv, { env })).code).toBe(0);
  }
}

describe.each(CORPORA)("on a store that is %s", (corpus) => {
  let [threads, items, holds, files]: Place[] = [];
  beforeAll(async () => {
    const stores = await Promise.all([1, 2, 3, 4].map((_, at) => filledStore(at < 2 ? corpus : "empty")));
    const [store, withItems, withHolds, empty] = stores as [FilledStore, FilledStore, FilledStore, FilledStore];
    await fillItems(withItems, corpus);
    const reasons = textsOf(corpus).map((text) => text.slice(0, 80));
    const text = { "{text}": reasons[0] ?? "asked by letter" };
    const typed = (await holdfast(["export", store.url])).stdout;
    const rules = JSON.stringify([{ category: "process", keepLast: 1 }]);
    await writeFile(`${store.directory}/rules.json`, rules);
    await writeReceipts(empty, reasons.slice(0, 8));
    threads = { corpus, store, named: { "{folder}": store.directory, "{some}": corpus === "many" ? "trip-?" : "*" } };
    items = { corpus, store: withItems, named: text, typed };
    holds = { corpus, store: withHolds, named: { ...text, "{hold}": await placeHolds(withHolds, reasons) } };
    files = { corpus, store: empty, named: { "{folder}": empty.directory } };
  });
  afterAll(() => Promise.all([threads, items, holds, files].map((place) => place?.store.dispose())));

  const title = (command: string): string =>
    `${command} prints what it printed before, in every format, and leaves every byte as it was`;
  for (const [command, args] of Object.entries(ON_THREADS))
    test(title(command), () => assertAsBefore(threads as Place, command, args));
  for (const [command, args] of Object.entries(ON_ITEMS))
    test(title(command), () => assertAsBefore(items as Place, command, args));
  for (const [command, args] of Object.entries(ON_HOLDS))
    test(title(command), () => assertAsBefore(holds as Place, command, args));
  for (const [command, args] of Object.entries(ON_FILES))
    test(title(command), () => assertAsBefore(files as Place, command, args));

  for (const [command, args] of Object.entries(ON_WRITABLE)) {
    test(`${command} prints what it printed before, in every format, and leaves every thread as it was`, async () => {
      const { store } = threads as Place;
      const before = (await holdfast(["export", store.url])).stdout;
      await assertPrinted(threads as Place, command, args);
      expect((await holdfast(["export", store.url])).stdout).toBe(before);
    });
  }
});
