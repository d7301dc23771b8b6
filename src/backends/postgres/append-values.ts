import type { AppendRequest, LogRecord } from "../../checkpoint/thread-log.ts";
import { storedWriteId } from "./rows.ts";
import { storedWords } from "./words.ts";

/** In the order of the function's parameters. */
export function appendValues(threadId: string, request: AppendRequest): readonly unknown[] {
  const { generation, expected, record, ttlMs } = request;
  const { seq, base, head, checkpointId, header, metadata, body } = record;
  const names = [storedWriteId(record), checkpointId ?? null, header, metadata ?? null];
  return [threadId, generation, expected, seq, base, head, ...names, body, ttlMs ?? null];
}

/** The same and what is to be edited; records that are replaced travel as columns. */
export function editingValues(threadId: string, request: AppendRequest): readonly unknown[] {
  const { replace = [], drop = [], dropBelow = 0 } = request;
  const column = (value: (record: LogRecord) => unknown): unknown[] => replace.map(value);
  return [
    ...appendValues(threadId, request),
    dropBelow,
    drop,
    column(({ seq }) => seq),
    column(({ base }) => base),
    column(({ head }) => head),
    column(storedWriteId),
    column(({ checkpointId }) => checkpointId ?? null),
    column(({ header }) => header),
    column(({ metadata }) => metadata ?? null),
    column(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
    column(({ words }) => storedWords(words)),
  ];
}

export const hasEdits = ({ replace = [], drop = [], dropBelow }: AppendRequest): boolean =>
  replace.length > 0 || drop.length > 0 || dropBelow !== undefined;
