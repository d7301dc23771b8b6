/**
 * zombie-program <url> <thread> <ttlMs> <moment>
 *
 * Takes the lease, saves, and stops itself for as long as the parent likes, at
 * one of these moments; then tries to save as if nothing had happened:
 *
 *   idle      between two saves, and saves at once when it wakes up
 *   renewing  between two saves, and lets the renewal of its lease go first
 *   writing   inside a save, after the lease was checked and before the write
 */
import { setTimeout as pause } from "node:timers/promises";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { openSharedLog } from "./shared-storage.ts";
import { say } from "./speaking.ts";

const [url = "", thread = "", ttl, moment] = process.argv.slice(2);
const ttlMs = Number(ttl);
const log = openSharedLog(url);
let stopBeforeWriting = false;
const checkpointer = new Checkpointer(stopping(log));

await checkpointer
  .withLease(
    thread,
    async (lease) => {
      const state = (await checkpointer.load(thread)) ?? AgentState.create();
      const mine = state.withMessage(userMessage("by the holder"));
      await checkpointer.save(mine, thread, { lease });
      if (moment === "writing") stopBeforeWriting = true;
      else stop();
      if (moment === "renewing") await pause(ttlMs);
      await checkpointer.save(mine.withMessage(userMessage("by the zombie")), thread, { lease });
    },
    { owner: "zombie", ttlMs },
  )
  .then(
    () => say({ saved: true }),
    (error: unknown) => say({ saved: false, code: StateError.is(error) ? error.code : String(error) }),
  );
await checkpointer.close();
process.disconnect();

/** Returns after SIGCONT. */
function stop(): void {
  say("stopping");
  process.kill(process.pid, "SIGSTOP");
}

function stopping(inner: ThreadLog): ThreadLog {
  return new Proxy(inner, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (name !== "append" || !stopBeforeWriting) return member.bind(target);
      stopBeforeWriting = false;
      stop();
      return member.bind(target);
    },
  });
}
