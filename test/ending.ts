import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./ending-program.ts", import.meta.url));

/** Far less than any timeout of a client, far more than a process takes to end. */
export const AT_ONCE_MS = 1500;

export interface Ending {
  readonly code: unknown;
  readonly said: readonly string[];
  readonly complaints: readonly string[];
  readonly lingeredMs: number;
}

/** How a program ends that closes nothing: what it said, and how long it lingered after its last word. */
export async function endingOf(...args: readonly string[]): Promise<Ending> {
  const child = spawn(process.execPath, ["--import", "tsx", PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const impatience = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const said: string[] = [];
  const complaints: string[] = [];
  let lastWord = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    said.push(line);
    lastWord = performance.now();
  });
  child.stderr.on("data", (data) => complaints.push(String(data)));
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(impatience);
  return { code, said, complaints, lingeredMs: performance.now() - lastWord };
}
