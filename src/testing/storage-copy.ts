import assert from "node:assert/strict";
import { contextOf } from "../checkpoint/context.ts";
import type { Fixture } from "./conformance-case.ts";

/**
 * Copies the storage; what it returns puts the copy in its place. Where a storage cannot be copied as a whole, its driver
 * copies the one thread, and puts it back under the generation that it had.
 */
export async function copyStorage<Subject extends object>(
  { subject, copy }: Pick<Fixture<Subject>, "subject" | "copy">,
  threadId: string,
): Promise<() => Promise<void>> {
  if (copy !== undefined) return copy();
  const log = contextOf(subject)?.log;
  if (log === undefined) throw new Error('a case that copies a storage must name the need "log"');
  const aside = `${threadId}, as it was`;
  const { generation = "" } = (await log.tail(threadId)) ?? {};
  assert.equal(await log.copy(threadId, aside, generation), "copied");
  return async () => {
    assert.equal(await log.remove(threadId), "removed");
    assert.equal(await log.copy(aside, threadId, generation), "copied");
    assert.equal(await log.remove(aside), "removed");
  };
}
