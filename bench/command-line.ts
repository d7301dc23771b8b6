import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { openFile } from "../src/backends/sqlite/open-file.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";

const MAIN = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
/** A command that holds everything in memory ends here. */
const HEAP_MB = 64;
const COMMANDS: readonly (readonly string[])[] = [
  ["threads", "{from}", "--all", "-o", "ndjson"],
  ["vacuum", "{from}", "--keep-last", "1", "--dry-run", "-o", "ndjson"],
  ["inventory", "{from}", "absent"],
  ["copy", "{from}", "{to}", "--jobs", "4"],
  ["verify", "{to}"],
];

interface CommandRun {
  readonly command: string;
  readonly seconds: number;
  /** Processor time, so that other load on the machine does not count. */
  readonly cpuSeconds: number;
}

/** `npm run bench -- --only=command-line --threads=100000`: commands over a whole store, each with a heap of 64 MB. */
export async function benchCommandLine(threads: number): Promise<{
  readonly threads: number;
  readonly heapMb: number;
  readonly runs: readonly CommandRun[];
  readonly verdicts: readonly Verdict[];
}> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-cli-"));
  try {
    await fill(join(directory, "from.db"), threads);
    const runs: CommandRun[] = [];
    for (const argv of COMMANDS) runs.push(await runOf(argv, directory));
    const rows = runs.map(({ command, seconds, cpuSeconds }) => [
      command,
      `${seconds.toFixed(1)} s`,
      `${cpuSeconds.toFixed(1)} s`,
    ]);
    console.log(`\n${renderTable([`${threads} threads, heap of ${HEAP_MB} MB`, "time", "of the processor"], rows)}`);
    return { threads, heapMb: HEAP_MB, runs, verdicts: [] };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Two checkpoints each; without waiting for the disk, which is not what is measured here. */
async function fill(path: string, threads: number): Promise<void> {
  const { database } = await openFile(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = OFF");
  const checkpointer = sqliteCheckpointer({ database });
  for (let at = 0; at < threads; at++) {
    const state = AgentState.create().withMessage(userMessage(`thread ${at}`));
    await checkpointer.save(state, `t${at}`);
    await checkpointer.save(state.withMessage(userMessage("and more")), `t${at}`);
  }
  await checkpointer.close();
  database.close();
}

async function runOf(argv: readonly string[], directory: string): Promise<CommandRun> {
  const place = (word: string): string =>
    word.replace(/^\{(from|to)\}$/, (_, name) => `sqlite:${join(directory, `${name}.db`)}`);
  const node = [`--max-old-space-size=${HEAP_MB}`, "--import", import.meta.resolve("tsx"), MAIN];
  const begun = performance.now();
  const line = ["-c", 'TIMEFORMAT="%U %S"; time "$@"', "bash", process.execPath, ...node, ...argv.map(place)];
  const { stderr } = await promisify(execFile)("bash", line, { maxBuffer: 1024 ** 3 });
  const seconds = (performance.now() - begun) / 1000;
  const [user = 0, system = 0] = (stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  const command = argv.join(" ").replace(/\{from\}|\{to\}/g, "sqlite:…");
  return { command, seconds, cpuSeconds: user + system };
}
