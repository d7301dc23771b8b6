import type { ScrubReport } from "../../driver/driver.ts";
import { sleep } from "../../internal/time.ts";
import { classify } from "./classify.ts";
import { type Send, within } from "./port.ts";
import { lines, pairs } from "./server-facts.ts";

const LONGEST_REWRITE_MS = 30_000;
const PAUSE_MS = 50;
/**
 * The limit for one answer. Without a timer, a program with nothing else to do would
 * exit first: the sockets do not keep it alive.
 */
const LONGEST_ANSWER_MS = 10_000;

/** Makes every server rewrite its append-only file and its dump, so that they hold only current data. */
export async function rewriteFiles(servers: readonly Send[]): Promise<ScrubReport> {
  const done = new Set<string>();
  const remains = new Set<string>(["replicas of the server, and copies of its files"]);
  for (const server of servers) {
    const send: Send = (...given) => within(LONGEST_ANSWER_MS, server(...given));
    const before = lines(await send(["INFO", "persistence"]));
    if (before.get("aof_enabled") === "1") await rewriteOne(send, AOF, done, remains);
    const save = await allowed(send(["CONFIG", "GET", "save"]));
    const dumps = save === undefined || (pairs(save).get("save") ?? "") !== "";
    if (dumps) await rewriteOne(send, DUMP, done, remains);
    else remains.add("a dump that was made by hand, until BGSAVE");
  }
  return { done: [...done], remains: [...remains] };
}

interface Rewrite {
  readonly command: readonly [string];
  /** The INFO fields that say that a rewrite is running or scheduled. */
  readonly busy: readonly string[];
  readonly status: string;
  readonly what: string;
}

const AOF: Rewrite = {
  command: ["BGREWRITEAOF"],
  busy: ["aof_rewrite_in_progress", "aof_rewrite_scheduled"],
  status: "aof_last_bgrewrite_status",
  what: "append-only file",
};
const DUMP: Rewrite = {
  command: ["BGSAVE"],
  busy: ["rdb_bgsave_in_progress"],
  status: "rdb_last_bgsave_status",
  what: "dump",
};

async function rewriteOne(
  send: Send,
  { command, busy, status, what }: Rewrite,
  done: Set<string>,
  remains: Set<string>,
): Promise<void> {
  const left = `the ${what}, until ${command[0]} was run after this erasure`;
  if (!(await isIdle(send, busy)) || (await allowed(send(command))) === undefined || !(await isIdle(send, busy))) {
    remains.add(left);
    return;
  }
  if (lines(await send(["INFO", "persistence"])).get(status) === "ok") done.add(`the ${what} was written anew`);
  else remains.add(left);
}

/** Waits for a rewrite in progress: it may have begun before the erasure. */
async function isIdle(send: Send, busy: readonly string[]): Promise<boolean> {
  for (let waited = 0; waited < LONGEST_REWRITE_MS; waited += PAUSE_MS) {
    const told = lines(await send(["INFO", "persistence"]));
    if (busy.every((name) => (told.get(name) ?? "0") === "0")) return true;
    await sleep(PAUSE_MS);
  }
  return false;
}

/** `undefined` if this user or this server does not allow it: managed services disable such commands. */
async function allowed(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    const code = classify(error);
    if (
      code === "PERMISSION_DENIED" ||
      code === "UNSUPPORTED" ||
      (error instanceof Error && error.message.startsWith("ERR "))
    )
      return undefined;
    throw error;
  }
}
