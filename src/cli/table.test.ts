import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { completionFor, SHELLS } from "./commands/serving/completion.ts";
import { COMMANDS } from "./commands.ts";
import { optionsOfCommand } from "./common-options.ts";

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  "%s and each of its options stand in its help, in docs/reference/cli.md and in completion, and it can be loaded",
  async (name, command) => {
    const { code, stdout } = await holdfast([...name.split(" "), "--help"]);
    expect(code).toBe(0);
    expect((await holdfast(["help", ...name.split(" ")])).stdout).toBe(stdout);
    const docs = await readFile(new URL("../../docs/reference/cli.md", import.meta.url), "utf8");
    expect(docs).toContain(`## ${name}\n`);
    for (const option of Object.keys(optionsOfCommand(command))) {
      expect(stdout).toContain(`--${option}`);
      expect(docs).toContain(`--${option}`);
      for (const shell of SHELLS) expect(completionFor(shell)).toMatch(new RegExp(`-(-|l )${option}\\b`));
    }
    expect(typeof (await command.load()).run).toBe("function");
  },
);

test("what writes has --dry-run, and what only looks has none", () => {
  for (const { name, store, options } of COMMANDS) {
    expect([name, Object.hasOwn(options, "dry-run")]).toEqual([
      name,
      store === "write" || store === "two" || name === "init",
    ]);
  }
});

test("general help names every command and every exit code", async () => {
  const { code, stdout } = await holdfast(["--help"]);
  expect(code).toBe(0);
  for (const { name, summary } of COMMANDS) expect(stdout).toMatch(new RegExp(`${name} +${summary.slice(0, 10)}`));
  for (const number of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 130, 143])
    expect(stdout).toMatch(new RegExp(`\\n +${number}  `));
  expect((await holdfast([])).code).toBe(2);
});

test("a word or an option that is nearly right is told what was meant", async () => {
  expect((await holdfast(["thread"])).stderr).toContain("did you mean threads?");
  expect((await holdfast(["threads", "memory:", "--unfinishd"])).stderr).toContain("did you mean --unfinished?");
  expect((await holdfast(["lease"])).stderr).toContain("lease show, lease break");
  const { stderr } = await holdfast(["postgres://u:s3cret@h/db"]);
  expect(stderr).not.toContain("s3cret");
});

test("the store is the first argument that looks like one, env:NAME, HOLDFAST_STORE, or -s above all", async () => {
  const env = { STORE: "memory:", HOLDFAST_STORE: "memory:" };
  for (const argv of [["threads", "memory:"], ["threads", "env:STORE"], ["threads"], ["threads", "-s", "env:STORE"]]) {
    expect((await holdfast(argv, { env })).code, argv.join(" ")).toBe(0);
  }
  const { code, stderr } = await holdfast(["show", "-s", "memory:", "sqlite:x"]);
  expect([code, stderr]).toEqual([4, 'holdfast: there is no thread "sqlite:x"\n']);
  expect((await holdfast(["threads"])).code).toBe(2);
  expect((await holdfast(["threads", "env:NOT_SET"])).stderr).toContain("NOT_SET is not set");
});

test("colour is for terminals, and NO_COLOR, FORCE_COLOR and --color are heeded", async () => {
  const isBold = async (argv: readonly string[], env: Record<string, string>, terminal = true) =>
    (await holdfast(["stats", "memory:", "-o", "table", ...argv], { env, terminal })).stdout.includes("\u001b[1m");
  expect(await isBold([], {})).toBe(true);
  expect(await isBold([], { NO_COLOR: "1" })).toBe(false);
  expect(await isBold([], { TERM: "dumb" })).toBe(false);
  expect(await isBold([], {}, false)).toBe(false);
  expect(await isBold([], { FORCE_COLOR: "1" }, false)).toBe(true);
  expect(await isBold(["--color", "never"], { FORCE_COLOR: "1" })).toBe(false);
});
