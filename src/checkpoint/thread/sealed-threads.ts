import { SEALED_HEADER } from "../../driver/unopened.ts";
import type { Warnings } from "../../driver/warnings.ts";
import type { CheckpointContext } from "../context.ts";
import { isReadable } from "../log/listed-threads.ts";
import type { ListedThread, LogPage } from "../log/thread-log.ts";
import { openHeader } from "../record/record.ts";

const LOOKED_AT = 3;

/** Whoever met none once does not look again: that would cost every search that finds nothing. */
const metNone = new WeakSet<CheckpointContext>();

/**
 * Threads that were sealed have no words in an index and no metadata, so to a program
 * without keys they look as if they were not there. An answer without threads says so then.
 */
export async function noteSealedThreads(
  context: CheckpointContext,
  operation: string,
  prefix: string,
  warnings: Warnings,
): Promise<void> {
  const { capabilities } = context.log;
  if (!capabilities.listThreads || (capabilities.sealing ?? "none") !== "none" || metNone.has(context)) return;
  const query = { prefix, limit: LOOKED_AT };
  // What was asked for was answered: a look beside it that fails takes nothing away.
  const nothing: LogPage<ListedThread> = { items: [], cursor: undefined };
  const { items } = await context.call({ operation }, (log) => log.listThreads(query)).catch(() => nothing);
  const sealed = items.filter(isReadable).filter(({ head }) => head.header.startsWith(SEALED_HEADER));
  if (sealed.length === 0 && items.length > 0 && prefix === "") metNone.add(context);
  for (const { threadId, head } of sealed) {
    await warnings.skipping(threadId, () => openHeader(head));
  }
}
