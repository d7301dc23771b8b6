/**
 * copying-program <from> <to>
 *
 * Waits for a word, `{ at, when, args }`, and runs `holdfast copy` then; again
 * for each further word. At the driver call of that number it is killed by the
 * system: before the call, or while it is under way. Says how many calls it made
 * when it lives to the end.
 */
import { BACKENDS, type BackendModule } from "../../src/backends/registry.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../src/checkpoint/context.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { holdfast } from "../cli/fake-world.ts";
import { smallRecords } from "../small-records-log.ts";
import { listen, say } from "./speaking.ts";

const CALLS: ReadonlySet<string> = new Set([
  "append",
  "readRecords",
  "readTail",
  "readCheckpoint",
  "tail",
  "list",
  "entry",
  "listThreads",
  "remove",
]);
/** How long a call that is killed may have been under way. */
const MOMENTS = 5;
/** Small appends, so that there is something to be in the middle of. */
const RECORD_BYTES = 3000;

const [from = "", to = ""] = process.argv.slice(2);
if (`${from} ${to}`.includes("oracle:")) await import("../oracle-stand-in/install.ts");
// What the first contact loads is loaded before the first call.
for (const url of [from, to]) await standBeforeDeath(url);
let [calls, at, when] = [0, 0, ""];
for (let word = nextWord("ready"); ; ) {
  const order = JSON.parse(await word) as { at: number; when: string; args: readonly string[] };
  [calls, at, when] = [0, order.at, order.when];
  const line = ["copy", "env:FROM", "env:TO", ...order.args];
  const { code, stderr } = await holdfast(line, { env: { FROM: from, TO: to } });
  // The end may come before the moment does.
  if (at > 0 && calls >= at) die();
  word = nextWord({ calls, code, stderr });
}

/** Listens before it speaks: an answer is never missed. */
function nextWord(said: unknown): Promise<string> {
  const word = listen();
  say(said);
  return word;
}

/** Every checkpointer of the command is one whose driver calls are counted. */
async function standBeforeDeath(url: string): Promise<void> {
  const scheme = url.split(":")[0] ?? "";
  const entry = Object.values(BACKENDS).find(({ schemes }) => schemes.includes(scheme)) as {
    load: () => Promise<BackendModule>;
  };
  const { openUrl } = await entry.load();
  const counting: BackendModule["openUrl"] = (opened, options = {}) => {
    const { log } = contextOf(openUrl(opened, options)) as CheckpointContext;
    const counted = dying(log);
    return new Checkpointer(opened === to ? smallRecords(counted, RECORD_BYTES).log : counted, options);
  };
  entry.load = async () => ({ openUrl: counting });
}

function dying(log: ThreadLog): ThreadLog {
  return new Proxy(log, {
    get: (target, name): unknown => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!CALLS.has(String(name))) return value.bind(target);
      return (...given: unknown[]): unknown => {
        if (++calls !== at) return value.apply(target, given);
        if (when === "before") die();
        // It may be done by then, or half done, or not begun.
        setTimeout(die, at % MOMENTS);
        return value.apply(target, given);
      };
    },
  });
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // Nothing of this process runs any more, however long the system takes.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
