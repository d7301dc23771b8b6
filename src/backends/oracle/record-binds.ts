import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { membersIn } from "../../checkpoint/sql-log/members.ts";
import { type Binds, bytes, number, text } from "./binds.ts";
import { LONG_BODY, LONG_TEXT, SHORT_BODY_BYTES, SHORT_TEXT_BYTES } from "./layout.ts";
import { isUnindexable } from "./metadata.ts";

/** Text in the column for short values or in the one for long values. */
interface Split {
  readonly short: string | null;
  readonly long: string | null;
}

function split(value: string | undefined): Split {
  if (value === undefined || value === "") return { short: null, long: null };
  return Buffer.byteLength(value) > SHORT_TEXT_BYTES ? { short: null, long: value } : { short: value, long: null };
}

/** The values of one record of an append, by the names that the block uses for the record at this place. */
export function recordBinds(record: LogRecord, place: number): Binds {
  const { seq, base, head, writeId, checkpointId, names, header, metadata, body } = record;
  const texts = { names: split(names && JSON.stringify(names)), header: split(header), metadata: split(metadata) };
  const hasLongBody = body.byteLength > SHORT_BODY_BYTES;
  const hasLongText = Object.values(texts).some(({ long }) => long !== null);
  return {
    [`b_seq_${place}`]: number(seq),
    [`b_base_${place}`]: number(base),
    [`b_head_${place}`]: number(head),
    // Most checkpoints are named by their write id: the name is then stored once.
    [`b_write_id_${place}`]: text(writeId === checkpointId ? null : writeId),
    [`b_checkpoint_id_${place}`]: text(checkpointId),
    [`b_names_${place}`]: text(texts.names.short),
    [`b_header_${place}`]: text(texts.header.short),
    [`b_metadata_${place}`]: text(texts.metadata.short),
    [`b_unindexed_${place}`]: number(isUnindexable(metadata) ? 1 : null),
    [`b_members_${place}`]: text(membersOf(metadata)),
    [`b_body_${place}`]: bytes(hasLongBody ? null : body),
    [`b_lengthy_${place}`]: number((hasLongBody ? LONG_BODY : 0) + (hasLongText ? LONG_TEXT : 0)),
    [`b_body_bytes_${place}`]: number(body.byteLength),
    [`b_long_names_${place}`]: text(texts.names.long),
    [`b_long_header_${place}`]: text(texts.header.long),
    [`b_long_metadata_${place}`]: text(texts.metadata.long),
    [`b_long_body_${place}`]: bytes(hasLongBody ? body : null),
  };
}

/** What the thread's own row shows of its head. */
export function headBinds({ checkpointId, header, metadata }: LogRecord): Binds {
  return {
    b_checkpoint_id: text(checkpointId),
    b_summary: text(split(header).short),
    b_metadata: text(isUnindexable(metadata) ? null : metadata),
    b_unindexed: number(isUnindexable(metadata) ? 1 : null),
    b_members: text(membersOf(metadata)),
  };
}

/** The numbers of the index of metadata. */
function membersOf(metadata: string | undefined): string | null {
  const members = membersIn(metadata);
  return members.size === 0 ? null : JSON.stringify([...members]);
}
