import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./ending-program.ts", import.meta.url));

/** Far less than any timeout of a client, far more than a process waits for that only has to end. */
export const AT_ONCE_MS = 1500;

/** How a program's last line begins: see `tellLinger`. */
const LINGERED = "lingered ";

/**
 * To be called by a program after its last word. At its end it tells how long its event loop had nothing to do but wait: for
 * a timer, or for a socket that stayed open. The time on the clock would count a busy machine, too.
 */
export function tellLinger(): void {
  const { idle } = performance.eventLoopUtilization();
  process.once("exit", () => console.log(`${LINGERED}${performance.eventLoopUtilization().idle - idle}`));
}

export interface Ending {
  readonly code: unknown;
  readonly said: readonly string[];
  readonly complaints: readonly string[];
  /** How long the program waited after its last word. */
  readonly lingeredMs: number;
}

/** How a program ends that closes nothing: what it said, and how long it lingered after its last word. */
export const endingOf = (...args: readonly string[]): Promise<Ending> => endingOfProgram(PROGRAM, args);

export async function endingOfProgram(
  program: string,
  args: readonly string[],
  onLine: (line: string) => void = () => undefined,
): Promise<Ending> {
  const child = spawn(process.execPath, ["--import", "tsx", program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const impatience = setTimeout(() => child.kill("SIGKILL"), 120_000);
  const said: string[] = [];
  const complaints: string[] = [];
  let lingeredMs = Number.NaN;
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith(LINGERED)) {
      lingeredMs = Number(line.slice(LINGERED.length));
      return;
    }
    said.push(line);
    onLine(line);
  });
  child.stderr.on("data", (data) => complaints.push(String(data)));
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(impatience);
  return { code, said, complaints, lingeredMs };
}
