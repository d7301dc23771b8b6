import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { goneSource, headSource, type Leftover, type Place, recordSource, STUB, type Thread } from "./documents.ts";
import { recordId } from "./layout.ts";
import type { BulkItem, Revision } from "./requests.ts";

/** The write that commits. Without a revision, there must be no document yet. */
export const commitHead = (thread: Thread, over: Revision | undefined): BulkItem => ({
  action: conditional(thread.key, over),
  source: headSource(thread),
});

export const commitGone = (key: string, leftovers: readonly Leftover[], over: Revision | undefined): BulkItem => ({
  action: conditional(key, over),
  source: goneSource(leftovers),
});

export const deleteGone = (key: string, { seqNo, term }: Revision): BulkItem => ({
  action: { delete: { _id: key, if_seq_no: seqNo, if_primary_term: term } },
});

const conditional = (_id: string, over: Revision | undefined): BulkItem["action"] =>
  over === undefined ? { create: { _id } } : { index: { _id, if_seq_no: over.seqNo, if_primary_term: over.term } };

/** Writes a record as of the append at `version`; refused if a later append has written it. */
export const putRecord = (place: Place, record: LogRecord, version: number): BulkItem => ({
  action: versioned(place, record.seq, version),
  source: recordSource(place, record),
});

export const putStub = (place: Place, seq: number, version: number): BulkItem => ({
  action: versioned(place, seq, version),
  source: STUB,
});

function versioned({ key, life }: Place, seq: number, version: number): BulkItem["action"] {
  return { index: { _id: recordId(key, life, seq), routing: key, version, version_type: "external" } };
}

export const deleteRecord = (key: string, life: string, seq: number): BulkItem => ({
  action: { delete: { _id: recordId(key, life, seq), routing: key } },
});
