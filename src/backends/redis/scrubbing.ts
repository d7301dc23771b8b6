import type { ScrubReport } from "../../driver/driver.ts";
import { sleep } from "../../internal/sleep.ts";
import { classify } from "./classify.ts";
import { type Send, within } from "./port.ts";
import { lines, pairs } from "./server-facts.ts";

const LONGEST_REWRITE_MS = 30_000;
const PAUSE_MS = 50;
/** For one answer. Without an end to wait for, a program with nothing else to do would be over before it comes: sockets keep no process alive. */
const LONGEST_ANSWER_MS = 10_000;

/** Has every server write its append-only file and its dump anew, so that they hold what is there and nothing older. */
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
    else remains.add("a dump that somebody made by hand, until BGSAVE");
  }
  return { done: [...done], remains: [...remains] };
}

interface Rewrite {
  readonly command: readonly [string];
  /** What INFO says while it is under way, or is to follow. */
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

/** Waits for one that is under way: it may have begun before the erasure. */
async function isIdle(send: Send, busy: readonly string[]): Promise<boolean> {
  for (let waited = 0; waited < LONGEST_REWRITE_MS; waited += PAUSE_MS) {
    const told = lines(await send(["INFO", "persistence"]));
    if (busy.every((name) => (told.get(name) ?? "0") === "0")) return true;
    await sleep(PAUSE_MS);
  }
  return false;
}

/** `undefined` where this user may not, or the server does not: managed services close such commands. */
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
