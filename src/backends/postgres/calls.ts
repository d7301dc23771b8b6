import type { AppendRequest, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { storedNames, storedWriteId } from "../../checkpoint/sql-log/rows.ts";
import { storedWords } from "./words.ts";

/**
 * The server-side functions are called with named parameters, never by order. Each
 * list defines a parameter's name (in SQL with `p_` in front) and its value.
 */
type Parameters<Given> = Readonly<Record<string, (given: Given) => unknown>>;

export interface Appending {
  readonly threadId: string;
  readonly request: AppendRequest;
}

const APPEND: Parameters<Appending> = {
  thread: ({ threadId }) => threadId,
  generation: ({ request }) => request.expected.generation,
  expected: ({ request }) => request.expected.seq,
  expected_write: ({ request }) => request.expected.writeId,
  seq: ({ request }) => request.record.seq,
  base: ({ request }) => request.record.base,
  head: ({ request }) => request.record.head,
  write_id: ({ request }) => storedWriteId(request.record),
  checkpoint_id: ({ request }) => request.record.checkpointId ?? null,
  names: ({ request }) => storedNames(request.record),
  header: ({ request }) => request.record.header,
  metadata: ({ request }) => request.record.metadata ?? null,
  body: ({ request }) => request.record.body,
  ttl_ms: ({ request }) => request.ttlMs ?? null,
};

/** Replaced records, and all new records but the first, travel as array columns. Their positions tell which is which. */
const column =
  (value: (record: LogRecord) => unknown) =>
  ({ request }: Appending): unknown[] =>
    [...(request.replace ?? []), ...(request.more ?? [])].map(value);

const APPEND_WITH_EDITS: Parameters<Appending> = {
  ...APPEND,
  below: ({ request }) => request.dropBelow ?? 0,
  dropped: ({ request }) => request.drop ?? [],
  seqs: column(({ seq }) => seq),
  bases: column(({ base }) => base),
  heads: column(({ head }) => head),
  write_ids: column(storedWriteId),
  checkpoint_ids: column(({ checkpointId }) => checkpointId ?? null),
  name_lists: column(storedNames),
  headers: column(({ header }) => header),
  metadatas: column(({ metadata }) => metadata ?? null),
  bodies: column(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
  words: column(({ words }) => storedWords(words)),
};

/** What an array of the values of several appends is made of, for each of them. */
const each =
  (value: (appending: Appending) => unknown) =>
  (group: readonly Appending[]): unknown[] =>
    group.map(value);

const APPEND_MANY: Parameters<readonly Appending[]> = {
  threads: each(({ threadId }) => threadId),
  generations: each(({ request }) => request.expected.generation),
  expected_writes: each(({ request }) => request.expected.writeId),
  seqs: each(({ request }) => request.record.seq),
  bases: each(({ request }) => request.record.base),
  heads: each(({ request }) => request.record.head),
  write_ids: each(({ request }) => storedWriteId(request.record)),
  checkpoint_ids: each(({ request }) => request.record.checkpointId ?? null),
  headers: each(({ request }) => request.record.header),
  metadatas: each(({ request }) => request.record.metadata ?? null),
  starts: startsOf,
  lengths: each(({ request }) => request.record.body.byteLength),
  // As one value the bodies travel as they are; as an array they would be spelled out in digits.
  bodies: (group) => Buffer.concat(group.map(({ request }) => request.record.body)),
};

/** Where each body begins among all of them, counted from 1. */
function startsOf(group: readonly Appending[]): readonly number[] {
  return starts(group.map(({ request }) => request.record));
}

function starts(records: readonly LogRecord[], first = 1): readonly number[] {
  let next = first;
  return records.map(({ body }) => {
    const start = next;
    next += body.byteLength;
    return start;
  });
}

interface Old {
  /** The place of its append in the group, counted from 1. */
  readonly place: number;
  readonly record: LogRecord;
}

interface Editing {
  readonly group: readonly Appending[];
  readonly dropped: readonly { readonly place: number; readonly seq: number }[];
  readonly old: readonly Old[];
}

const ofGroup =
  (value: (group: readonly Appending[]) => unknown) =>
  ({ group }: Editing): unknown =>
    value(group);

const ofOld =
  (value: (record: LogRecord) => unknown) =>
  ({ old }: Editing): unknown[] =>
    old.map(({ record }) => value(record));

const bytesOfAll = (records: readonly LogRecord[]): number =>
  records.reduce((bytes, { body }) => bytes + body.byteLength, 0);

const EDIT_MANY: Parameters<Editing> = {
  ...Object.fromEntries(Object.entries(APPEND_MANY).map(([name, value]) => [name, ofGroup(value)])),
  bodies: ({ group, old }) =>
    Buffer.concat([...group.map(({ request }) => request.record.body), ...old.map(({ record }) => record.body)]),
  belows: ({ group }) => group.map(({ request }) => request.dropBelow ?? 0),
  dropped_places: ({ dropped }) => dropped.map(({ place }) => place),
  dropped: ({ dropped }) => dropped.map(({ seq }) => seq),
  old_places: ({ old }) => old.map(({ place }) => place),
  old_seqs: ofOld(({ seq }) => seq),
  old_bases: ofOld(({ base }) => base),
  old_heads: ofOld(({ head }) => head),
  old_write_ids: ofOld(storedWriteId),
  old_checkpoint_ids: ofOld(({ checkpointId }) => checkpointId ?? null),
  old_names: ofOld(storedNames),
  old_headers: ofOld(({ header }) => header),
  old_metadatas: ofOld(({ metadata }) => metadata ?? null),
  old_starts: ({ group, old }) => {
    const first = 1 + bytesOfAll(group.map(({ request }) => request.record));
    return starts(
      old.map(({ record }) => record),
      first,
    );
  },
  old_lengths: ofOld(({ body }) => body.byteLength),
  old_words: ofOld(({ words }) => storedWords(words)),
};

export interface Indexing {
  readonly threadId: string | null | undefined;
  readonly generation: string | null | undefined;
  /** The range of records that are indexed with this call. */
  readonly indexed: number;
  readonly reached: number;
  readonly found: readonly {
    readonly seq: string | null | undefined;
    readonly version: string | null | undefined;
    readonly words: string;
  }[];
}

const INDEX_WORDS: Parameters<Indexing> = {
  thread: ({ threadId }) => threadId,
  generation: ({ generation }) => generation,
  indexed: ({ indexed }) => indexed,
  reached: ({ reached }) => reached,
  seqs: ({ found }) => found.map(({ seq }) => seq),
  versions: ({ found }) => found.map(({ version }) => version),
  words: ({ found }) => found.map(({ words }) => words),
};

type Call = "append" | "appendMany" | "appendWithEdits" | "editMany" | "indexWords";

const NAMES: Readonly<Record<Call, readonly string[]>> = {
  append: Object.keys(APPEND),
  appendMany: Object.keys(APPEND_MANY),
  appendWithEdits: Object.keys(APPEND_WITH_EDITS),
  editMany: Object.keys(EDIT_MANY),
  indexWords: Object.keys(INDEX_WORDS),
};

/** `"holdfast_append" (p_thread => $1, …)` */
export const callOf = (name: string, call: Call): string =>
  `${name} (${NAMES[call].map((parameter, index) => `p_${parameter} => $${index + 1}`).join(", ")})`;

function valuesOf<Given>(parameters: Parameters<Given>): (given: Given) => readonly unknown[] {
  const values = Object.values(parameters);
  return (given) => values.map((value) => value(given));
}

export const appendValues: (appending: Appending) => readonly unknown[] = valuesOf(APPEND);
export const groupValues: (group: readonly Appending[]) => readonly unknown[] = valuesOf(APPEND_MANY);
export const editingValues: (appending: Appending) => readonly unknown[] = valuesOf(APPEND_WITH_EDITS);
const valuesOfEdits = valuesOf(EDIT_MANY);
export const editManyValues = (group: readonly Appending[]): readonly unknown[] =>
  valuesOfEdits({
    group,
    dropped: group.flatMap(({ request }, index) => (request.drop ?? []).map((seq) => ({ place: index + 1, seq }))),
    old: group.flatMap(({ request }, index) => (request.replace ?? []).map((record) => ({ place: index + 1, record }))),
  });
export const indexingValues: (indexing: Indexing) => readonly unknown[] = valuesOf(INDEX_WORDS);

/** In characters. */
export const wordsWrittenBy = (group: readonly Appending[]): number =>
  group
    .flatMap(({ request }) => request.replace ?? [])
    .reduce((characters, { words = "" }) => characters + words.length, 0);

/** Nearly every append adds one record and changes nothing else. */
export const isOneRecord = ({ more = [], replace = [], drop = [], dropBelow }: AppendRequest): boolean =>
  more.length === 0 && replace.length === 0 && drop.length === 0 && dropBelow === undefined;

/** What `append_many` takes: it creates no thread, and knows neither names nor an end. */
export const mayShare = (appending: Appending): boolean => mayShareEdits(appending) && isOneRecord(appending.request);

/** What `edit_many` takes: one new record, too. */
export const mayShareEdits = ({ request: { expected, record, more = [], ttlMs } }: Appending): boolean =>
  expected.seq > 0 && more.length === 0 && record.names === undefined && ttlMs === undefined;
