import { runLine } from "../../src/cli/run.ts";
import type { Output, World } from "../../src/cli/world.ts";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface FakeWorld {
  readonly terminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** What a person types, or what comes through a pipe. */
  readonly typed?: string;
  readonly signal?: AbortSignal;
  /** @default a clock that stands still at NOW */
  readonly now?: () => number;
  /** Called with everything that is written to stdout. */
  readonly onOutput?: (text: string) => void;
}

/** The clock of every command in a test. */
export const NOW: number = Date.UTC(2026, 0, 2, 12, 0, 0);

/** Runs a command line as a process would, without one. */
export async function holdfast(argv: readonly string[], fake: FakeWorld = {}): Promise<Outcome> {
  const { terminal = false, env = {}, typed = "", signal = new AbortController().signal } = fake;
  const written = { stdout: "", stderr: "" };
  const output = (name: "stdout" | "stderr"): Output => ({
    write: async (text) => {
      written[name] += text;
      if (name === "stdout") fake.onOutput?.(text);
    },
    isTerminal: terminal,
    columns: 80,
  });
  const world: World = {
    env,
    stdout: output("stdout"),
    stderr: output("stderr"),
    stdin: {
      isTerminal: terminal,
      chunks: async function* () {
        yield Buffer.from(typed);
      },
      line: async () => typed,
    },
    now: fake.now ?? (() => NOW),
    signal,
  };
  return { code: await runLine(argv, world), ...written };
}
