import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const HOLDFAST = `${process.execPath} --import ${import.meta.resolve("tsx")} ${MAIN}`;

/** Runs its command in a pseudo-terminal, with what comes from a pipe typed there. */
const hasScript = spawnSync("script", ["-qec", "exit 7", "/dev/null"]).status === 7;

let store: FilledStore;
beforeAll(async () => {
  store = await filledStore("hostile");
});
afterAll(() => store.dispose());

interface Shown {
  readonly code: number | null;
  readonly screen: string;
}

/** Types once the screen shows `at`, and waits for the end. */
async function inTerminal(line: string, typed = "", at = ""): Promise<Shown> {
  const { CI: _, NO_COLOR: _no, FORCE_COLOR: _force, ...environment } = process.env;
  const env = { ...environment, TERM: "xterm", HF: HOLDFAST, STORE: store.url };
  const child = spawn("script", ["-qec", line, "/dev/null"], { env });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let screen = "";
  let isTyped = typed === "";
  const type = (): void => {
    if (isTyped || !screen.includes(at)) return;
    isTyped = true;
    child.stdin.write(typed);
  };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    screen += chunk;
    type();
  });
  type();
  return { code: await ended, screen };
}

/** What a terminal would obey, without our bold, our ends of lines, and the progress line that is written over. */
const obeyed = (screen: string): string =>
  screen
    .replace(/\u001b\[(?:1m|22m|K)|\r/g, "")
    .match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g)
    ?.join("") ?? "";

describe.skipIf(!hasScript)("in a pseudo-terminal", () => {
  test("a list is a table with a bold title, and nothing that is stored moves the cursor", async () => {
    for (const command of ["threads env:STORE", "show env:STORE '$(reboot)'"]) {
      const { code, screen } = await inTerminal(`$HF ${command}`);
      expect([command, code, obeyed(screen)]).toEqual([command, 0, ""]);
      expect(screen).toContain("\u001b[1m");
    }
  });

  test("a pipe behind a command makes it lines of tabs without colour, also in a terminal", async () => {
    const { screen } = await inTerminal("$HF threads env:STORE | cat");
    expect(screen).toContain("-x\twaiting (1)\t2026-01-02T11:00:27.000Z\t16\twaiting\r\n");
    expect(screen).not.toContain("\u001b");
  });

  test("delete asks, takes the thread's id for a yes, and anything else for a no", async () => {
    const refused = await inTerminal("$HF delete env:STORE -- -x", "no\n", "> ");
    expect([refused.code, refused.screen]).toEqual([11, expect.stringContaining("nothing was changed")]);
    const done = await inTerminal("$HF delete env:STORE -- -x", "-x\n", "> ");
    expect([done.code, done.screen]).toEqual([0, expect.stringContaining("9 checkpoints")]);
    const checkpointer = sqliteCheckpointer({ path: `${store.directory}/agents.db` });
    expect(await checkpointer.exists("-x")).toBe(false);
    await checkpointer.close();
  });

  test("the progress of copy has room where the terminal does not know its size, and is gone at the end", async () => {
    const { code, screen } = await inTerminal(`stty cols 0; $HF copy --bwlimit 300k env:STORE "$STORE-copy"`);
    expect(code).toBe(0);
    expect(screen).toMatch(/\r\u001b\[Kcopying {2}[^\r]{12,}/);
    // The summary stands where the bar was.
    expect(screen.slice(screen.lastIndexOf("\u001b[K") + 3)).toMatch(/^\u001b\[1mthreads +\u001b\[22m {2}\d/);
  });

  test("Ctrl-C that is typed ends tail -f with 130", async () => {
    const { code } = await inTerminal("$HF tail -f -o id env:STORE '$(reboot)'", "\u0003", "waiting");
    expect(code).toBe(130);
  });
});
