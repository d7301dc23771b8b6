import assert from "node:assert/strict";
import type { LogChain, ThreadLog } from "../src/checkpoint/log/thread-log.ts";
import { put, recordAt, threadsOf } from "../src/testing/thread-log-cases/sample-records.ts";

/** Ids beside a prefix, in front of it and in other prefixes, with what the cases themselves look for. */
const idsBeside = (prefix: string): readonly string[] => [
  "t",
  "thread 1",
  prefix,
  prefix.slice(0, -1),
  `${prefix.slice(0, -1)}0t`,
  `${prefix.toUpperCase()}t`,
  `${takenForAPattern(prefix)}t`,
  `q${prefix}t`,
];

/** What a prefix matches that is taken for a pattern, or something else where it holds nothing of one. */
function takenForAPattern(prefix: string): string {
  const matched = prefix.replaceAll(/[_%*]/g, "x");
  return matched === prefix ? `x${prefix}` : matched;
}

const words = "word fox quick early late echo";

/** Puts threads around a prefix. What it returns fails where they are not as they were, or where others were made. */
export async function neighboursOf(inner: ThreadLog, prefix: string): Promise<() => Promise<void>> {
  const neighbours = idsBeside(prefix);
  for (const threadId of neighbours) {
    const record = recordAt(1, { words, body: Buffer.from(`says: ${words}`), metadata: '{"a":1,"tag":"x"}' });
    await put(inner, threadId, record);
    await put(inner, threadId, recordAt(2, { metadata: '{"a":1,"tag":"x"}' }));
  }
  const all = (): Promise<readonly (LogChain | undefined)[]> =>
    Promise.all(neighbours.map((threadId) => inner.readTail(threadId)));
  const before = await all();
  return async () => {
    assert.deepEqual(await all(), before, "threads outside the prefix are as they were");
    const listed = (await threadsOf(inner, "", 100)).map(({ threadId }) => threadId);
    const outside = listed.filter((threadId) => threadId === prefix || !threadId.startsWith(prefix));
    assert.deepEqual(outside.sort(), [...neighbours].sort(), "and no thread was made outside it");
  };
}
