import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { CORPORA, type Corpus, type FilledStore, filledStore, fillItems } from "../../test/cli/filled-stores.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { COMMANDS } from "./commands.ts";

/**
 * What each command is called with, behind its store; `{}` is a thread, `{new}` a
 * store that is not there. Those that write are asked what they would do.
 */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  threads: [],
  show: ["{}"],
  history: ["{}"],
  diff: ["{}", "@-1", "@0"],
  search: ["please"],
  tail: ["{}"],
  stats: [],
  capabilities: [],
  inbox: [],
  "lease show": ["{}"],
};
/** On a store that has items as well. */
const CALLS_WITH_ITEMS: Readonly<Record<string, readonly string[]>> = {
  fork: ["{}", "new", "--settle-open", "--dry-run"],
  answer: ["{}", "call-1/1", '"window"', "--dry-run"],
  settle: ["{}", "call-1", "done", "--by=ann", "--dry-run"],
  delete: ["{}", "--dry-run"],
  vacuum: ["--keep-last=1", "--dry-run"],
  "lease break": ["{}", "--dry-run"],
  verify: [],
  repair: ["{}", "--dry-run"],
  migrate: ["--check"],
  copy: ["{new}", "--dry-run"],
  import: ["-", "--dry-run"],
  serve: ["--dry-run"],
  inventory: ["ann"],
  erase: ["ann", "--dry-run"],
  "store namespaces": [],
  "store items": [],
  "store get": ["users/ann", "k0"],
  "store search": ["/", "seat"],
  memories: [],
};
/** What these print is random, measured, or a text that another test holds on to. */
const ELSEWHERE: readonly string[] = [
  "export",
  "export-user",
  "receipt verify",
  "doctor",
  "studio",
  "token",
  "init",
  "completion",
];

test("17.1: every command of the table has its golden outputs, or a reason to have none", () => {
  const known = [...Object.keys(CALLS), ...Object.keys(CALLS_WITH_ITEMS), ...ELSEWHERE];
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

async function assertAsBefore(
  store: FilledStore,
  corpus: Corpus,
  command: string,
  args: readonly string[],
  typed = "",
) {
  const before = await hashedFiles(store.directory);
  const outcomes: string[] = [];
  const words = args.map((word) => word.replace("{}", store.thread).replace("{new}", `${store.url}-new`));
  // Behind "--" a thread may begin with a hyphen.
  const [options, rest] = [words.filter((word) => OPTION.test(word)), words.filter((word) => !OPTION.test(word))];
  for (const [name, { terminal, more }] of Object.entries(OUTPUTS)) {
    const argv = [...command.split(" "), ...more, ...options, "--", store.url, ...rest];
    const { code, stdout, stderr } = await holdfast(argv, { terminal, typed });
    const shown = shortened(`--- ${name}: ${code}\n${stdout}--- stderr\n${stderr}`);
    outcomes.push(shown.replaceAll(store.directory, "/somewhere"));
    if (name === "json" && stdout !== "") JSON.parse(stdout);
    if (name === "ndjson") for (const line of stdout.split("\n").filter((text) => text !== "")) JSON.parse(line);
    // Bold is ours; whatever else a terminal would obey came from the store.
    const plain = `${stdout}${stderr}`.replaceAll("\u001b[1m", "").replaceAll("\u001b[22m", "");
    expect(plain).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  }
  expect(await hashedFiles(store.directory)).toEqual(before);
  const file = `../../test/golden/cli/${corpus}-${command.replace(" ", "-")}.txt`;
  await expect(outcomes.join("\n")).toMatchFileSnapshot(file);
}

describe.each(CORPORA)("on a store that is %s", (corpus) => {
  let store: FilledStore;
  let withItems: FilledStore;
  let exported: string;
  beforeAll(async () => {
    [store, withItems] = [await filledStore(corpus), await filledStore(corpus)];
    await fillItems(withItems, corpus);
    exported = (await holdfast(["export", store.url])).stdout;
  });
  afterAll(() => Promise.all([store.dispose(), withItems.dispose()]));

  for (const [command, args] of Object.entries(CALLS)) {
    test(`17.1: ${command} prints what it printed before, in every format, and leaves every byte as it was`, () =>
      assertAsBefore(store, corpus, command, args));
  }

  for (const [command, args] of Object.entries(CALLS_WITH_ITEMS)) {
    test(`17.1: ${command} prints what it printed before, in every format, and leaves every byte as it was`, () =>
      assertAsBefore(withItems, corpus, command, args, exported));
  }

  test("17.1: what export and export-user write holds nothing that a terminal would obey", async () => {
    for (const argv of [["export"], ["export-user", "ann"]]) {
      const { code, stdout } = await holdfast([argv[0] ?? "", withItems.url, ...argv.slice(1)], { terminal: true });
      expect(code).toBe(0);
      const obeyed = stdout.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g);
      expect(obeyed).toBe(null);
      for (const line of stdout.trim().split("\n")) JSON.parse(line);
    }
  });
});
