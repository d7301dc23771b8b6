import { isMainThread } from "node:worker_threads";

/**
 * A process that ends releases what its runs hold, so that other processes need not
 * wait until the leases expire. A signal is handled only if the program does not
 * handle it itself: such a program drains its agents as it likes.
 */
const releases = new Set<() => Promise<void>>();
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Exiting does not wait longer than this for an unreachable storage. */
const LONGEST_MS = 2_000;

/** Calls `release` when the process ends; returns the way to forget it. */
export function releaseAtExit(release: () => Promise<void>): () => void {
  if (releases.size === 0) listen("on");
  releases.add(release);
  return () => {
    if (releases.delete(release) && releases.size === 0) listen("off");
  };
}

function listen(method: "on" | "off"): void {
  process[method]("beforeExit", releaseAll);
  if (isMainThread) for (const signal of SIGNALS) process[method](signal, onSignal);
}

async function releaseAll(): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LONGEST_MS);
  });
  await Promise.race([Promise.allSettled([...releases].map((release) => release())), timeUp]);
  clearTimeout(timer);
}

async function onSignal(signal: NodeJS.Signals): Promise<void> {
  if (process.listenerCount(signal) > 1) return;
  await releaseAll();
  listen("off");
  releases.clear();
  process.kill(process.pid, signal);
}
