import type { CheckpointSummary, ThreadSummary } from "../../checkpoint/base-checkpointer.ts";
import type { Standing } from "../../state/tool-calls.ts";
import { encodeValue } from "../../state/values/codec.ts";
import type { Column } from "./printer.ts";

/** "waiting (1), in doubt (2)"; "idle" where a thread waits for nothing. */
export function standingText(standing: Standing | undefined): string {
  if (standing === undefined) return "idle";
  const { waiting, inDoubt, stopped, unfinished } = standing;
  const parts = [
    ...(waiting === undefined ? [] : [`waiting (${waiting})`]),
    ...(inDoubt === undefined ? [] : [`in doubt (${inDoubt})`]),
    ...(stopped === true ? ["stopped"] : unfinished === true ? ["unfinished"] : []),
  ];
  return parts.join(", ");
}

/** A summary with the names and values of the library; what JSON has no form for is tagged, as everywhere. */
export const summaryJson = (summary: CheckpointSummary): unknown => ({
  ...summary,
  ...(summary.metadata !== undefined && { metadata: encodeValue(summary.metadata, "metadata") }),
});

export const THREAD_COLUMNS: readonly Column<ThreadSummary>[] = [
  { title: "thread", cell: ({ threadId }) => ({ id: threadId }) },
  {
    title: "standing",
    cell: ({ standing, createdAt }) => (createdAt === undefined ? "unreadable" : standingText(standing)),
  },
  { title: "last save", cell: ({ createdAt }) => createdAt },
  { title: "messages", cell: ({ messageCount }) => messageCount, align: "right" },
  { title: "checkpoint", cell: ({ checkpointId }) => ({ id: checkpointId }) },
];

export const CHECKPOINT_COLUMNS: readonly Column<CheckpointSummary>[] = [
  { title: "checkpoint", cell: ({ checkpointId }) => ({ id: checkpointId }) },
  { title: "saved", cell: ({ createdAt }) => createdAt },
  { title: "messages", cell: ({ messageCount }) => messageCount, align: "right" },
  { title: "bytes", cell: ({ bytes }) => bytes, align: "right" },
  { title: "standing", cell: ({ standing }) => standingText(standing) },
];
