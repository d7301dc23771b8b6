import type { AppendRequest, LogRecord } from "../../checkpoint/thread-log.ts";
import { storedWriteId } from "./rows.ts";
import { storedWords } from "./words.ts";

/** The values of `create`, in the order of its parameters. */
export function creatingValues(threadId: string, { generation, record, expiresAt }: AppendRequest): readonly unknown[] {
  const { seq, head, base, checkpointId, header, metadata, words, body } = record;
  const names = [storedWriteId(record), checkpointId ?? null, header, metadata ?? null];
  return [threadId, generation, seq, head, base, ...names, storedWords(words), body, expiresAt ?? null];
}

/** Those of `advance`. */
export const advancingValues = (threadId: string, request: AppendRequest): readonly unknown[] => [
  ...creatingValues(threadId, request),
  request.expected,
];

/** Those of `advanceWithEdits`: what is replaced travels as columns. */
export function editingValues(threadId: string, request: AppendRequest): readonly unknown[] {
  const { replace = [], drop = [], dropBelow = 0 } = request;
  const column = (value: (record: LogRecord) => unknown): unknown[] => replace.map(value);
  return [
    ...advancingValues(threadId, request),
    dropBelow,
    drop,
    column(({ seq }) => seq),
    column(({ base }) => base),
    column(({ head }) => head),
    column(storedWriteId),
    column(({ checkpointId }) => checkpointId ?? null),
    column(({ header }) => header),
    column(({ metadata }) => metadata ?? null),
    column(({ words }) => storedWords(words)?.join(" ") ?? null),
    column(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
  ];
}

export const hasEdits = ({ replace = [], drop = [], dropBelow }: AppendRequest): boolean =>
  replace.length > 0 || drop.length > 0 || dropBelow !== undefined;
