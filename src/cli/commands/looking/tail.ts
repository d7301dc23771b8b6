import type { CheckpointSummary } from "../../../checkpoint/base-checkpointer.ts";
import type { Checkpointer } from "../../../checkpoint/checkpointer.ts";
import { sleep } from "../../../internal/time.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { CHECKPOINT_COLUMNS, summaryJson } from "../../output/summaries.ts";
import { missingThread } from "../../references.ts";

/** How long until a thread is looked at again. */
const POLL_MS = 500;

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const isEndless = options.flag("follow");
  if (isEndless && printer.format === "json")
    throw new UsageError("-f never ends, and JSON is one document: use -o ndjson");
  const checkpointer = await call.open();
  const threadId = given["thread"] ?? "";
  const newest = await checkpointer.listCheckpoints(threadId, { limit: Math.max(1, options.count("lines", 10)) });
  if (newest.length === 0) throw missingThread(threadId);
  const shown = options.count("lines", 10) === 0 ? [] : newest.toReversed();
  const later = isEndless ? following(call, checkpointer, threadId, newest[0]?.seq ?? 0) : [];
  await printer.list({
    items: inOrder(shown, later),
    columns: CHECKPOINT_COLUMNS,
    json: summaryJson,
    id: ({ checkpointId }) => checkpointId,
  });
  return EXIT.done;
}

async function* inOrder(
  first: readonly CheckpointSummary[],
  later: AsyncIterable<CheckpointSummary> | Iterable<CheckpointSummary>,
): AsyncGenerator<CheckpointSummary> {
  yield* first;
  yield* later;
}

/** Every later checkpoint, until the thread is gone. A thread that was deleted and made anew begins again. */
async function* following(
  { world }: CommandCall,
  checkpointer: Checkpointer,
  threadId: string,
  from: number,
): AsyncGenerator<CheckpointSummary> {
  for (let seen = from; ; ) {
    await sleep(POLL_MS, world.signal);
    const fresh: CheckpointSummary[] = [];
    let newest: number | undefined;
    for await (const summary of checkpointer.history(threadId)) {
      const { seq = 0 } = summary;
      newest ??= seq;
      if (newest < seen) seen = 0;
      if (seq <= seen) break;
      fresh.push(summary);
    }
    if (newest === undefined) return;
    yield* fresh.reverse();
    seen = newest;
  }
}
