import { uncheckedHead } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogEntry, ThreadLog } from "../log/thread-log.ts";
import { assertAgents } from "../record/thread-facts.ts";
import { type Expectation, expectationAt } from "./expectation.ts";
import { movedOn } from "./save-refusals.ts";

/** What a save expects whose caller names the head, or says that any will do. `CONFLICT` if it is another one. */
export async function expectationOfHead(
  context: CheckpointContext,
  threadId: string,
  expectedHead: string | typeof uncheckedHead,
): Promise<Expectation | undefined> {
  const ask = <T>(work: (log: ThreadLog) => Promise<T>): Promise<T> =>
    context.call({ operation: "save", threadId }, work);
  const headOf = async (tail: LogEntry): Promise<LogEntry | undefined> => {
    assertAgents(tail);
    if (tail.head === tail.seq) return tail;
    const [head] = await ask((log) => log.list(threadId, { limit: 1 }));
    return head;
  };
  const found = await ask((log) => log.tail(threadId));
  const head = found === undefined ? undefined : await headOf(found.entry);
  if (expectedHead !== uncheckedHead && head?.checkpointId !== expectedHead) {
    throw movedOn(context, threadId, expectedHead, head?.checkpointId ?? null);
  }
  return found && expectationAt(found.generation, found.entry, head);
}
