import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { CORPORA, type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";

/** What each command that looks is called with, behind its store; `{}` is a thread. */
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

const OUTPUTS: Readonly<Record<string, { readonly terminal: boolean; readonly more: readonly string[] }>> = {
  terminal: { terminal: true, more: [] },
  pipe: { terminal: false, more: [] },
  json: { terminal: false, more: ["-o", "json"] },
  ndjson: { terminal: false, more: ["-o", "ndjson"] },
};

/** A cell of 100,000 characters is the same text again and again: its length says enough. */
const shortened = (text: string): string => text.replace(/(?:wide ){50,}/g, (found) => `<${found.length} characters>`);

describe.each(CORPORA)("on a store that is %s", (corpus) => {
  let store: FilledStore;
  beforeAll(async () => {
    store = await filledStore(corpus);
  });
  afterAll(() => store.dispose());

  for (const [command, args] of Object.entries(CALLS)) {
    test(`17.1: ${command} prints what it printed before, in every format, and leaves every byte as it was`, async () => {
      const before = await hashedFiles(store.directory);
      const outcomes: string[] = [];
      for (const [name, { terminal, more }] of Object.entries(OUTPUTS)) {
        const rest = args.map((argument) => argument.replace("{}", store.thread));
        // Behind "--" a thread may begin with a hyphen.
        const argv = [...command.split(" "), ...more, "--", store.url, ...rest];
        const { code, stdout, stderr } = await holdfast(argv, { terminal });
        outcomes.push(`--- ${name}: ${code}\n${shortened(stdout)}--- stderr\n${shortened(stderr)}`);
        if (name === "json" && stdout !== "") JSON.parse(stdout);
        if (name === "ndjson") for (const line of stdout.split("\n").filter((text) => text !== "")) JSON.parse(line);
        // Bold is ours; whatever else a terminal would obey came from the store.
        const plain = `${stdout}${stderr}`.replaceAll("\u001b[1m", "").replaceAll("\u001b[22m", "");
        expect(plain).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      }
      expect(await hashedFiles(store.directory)).toEqual(before);
      const file = `../../test/golden/cli/${corpus}-${command.replace(" ", "-")}.txt`;
      await expect(outcomes.join("\n")).toMatchFileSnapshot(file);
    });
  }
});
