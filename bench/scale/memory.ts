import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const SERVED_THREADS = 10_000;

export interface ServingMemory {
  readonly threads: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly heapBytesAThread: number;
}

/** The memory of a process of its own: what the fill left behind is not counted. */
export async function servingMemory(url: string, threads: number): Promise<ServingMemory> {
  const program = fileURLToPath(new URL("memory-program.ts", import.meta.url));
  const argv = ["--expose-gc", "--import", import.meta.resolve("tsx"), program, url, String(threads)];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  const { before, after } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<
    "before" | "after",
    { heap: number; rss: number }
  >;
  return {
    threads,
    heapBytes: after.heap,
    rssBytes: after.rss,
    heapBytesAThread: (after.heap - before.heap) / (threads - 100),
  };
}
