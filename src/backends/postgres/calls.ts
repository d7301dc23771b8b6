import type { AppendRequest, LogRecord } from "../../checkpoint/thread-log.ts";
import type { TableNames } from "./layout.ts";
import { storedNames, storedWriteId } from "./rows.ts";
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
  generation: ({ request }) => request.generation,
  expected: ({ request }) => request.expected,
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
  generations: each(({ request }) => request.generation),
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
function startsOf(group: readonly Appending[]): unknown[] {
  let next = 1;
  return group.map(({ request }) => {
    const start = next;
    next += request.record.body.byteLength;
    return start;
  });
}

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

const NAMES: Readonly<Record<"append" | "appendMany" | "appendWithEdits" | "indexWords", readonly string[]>> = {
  append: Object.keys(APPEND),
  appendMany: Object.keys(APPEND_MANY),
  appendWithEdits: Object.keys(APPEND_WITH_EDITS),
  indexWords: Object.keys(INDEX_WORDS),
};

/** `"holdfast_append" (p_thread => $1, …)` */
export const callOf = (name: string, call: keyof typeof NAMES, before = 0): string =>
  `${name} (${NAMES[call].map((parameter, index) => `p_${parameter} => $${before + index + 1}`).join(", ")})`;

/**
 * Several appends with edits as one statement, each by a call of its own: its row
 * has the places of those that were made, from 1. Threads that another transaction
 * holds are left out, so that nobody waits for another thread's lock, and so are
 * those that have another tail.
 */
export function editingMany(
  { threads, appendWithEdits }: Pick<TableNames, "threads" | "appendWithEdits">,
  group: readonly Appending[],
): { readonly text: string; readonly values: readonly unknown[] } {
  const parameters = NAMES.appendWithEdits.length;
  const calls = group.map((_, index) => {
    const call = callOf(appendWithEdits, "appendWithEdits", 3 + index * parameters);
    return `CASE WHEN ${index + 1} = ANY (held.places) THEN CASE WHEN ${call} THEN ${index + 1} END END`;
  });
  const text = `WITH held AS MATERIALIZED (
      SELECT array_agg(n.place) AS places
      FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS n (thread_id, generation, tail, place)
        CROSS JOIN LATERAL (SELECT FROM ${threads} t
          WHERE t.thread_id = n.thread_id AND t.generation = n.generation AND t.tail = n.tail
          FOR NO KEY UPDATE SKIP LOCKED) t)
    SELECT array_remove(ARRAY[${calls.join(", ")}]::int[], NULL) AS places FROM held`;
  const places = [
    group.map(({ threadId }) => threadId),
    group.map(({ request }) => request.generation),
    group.map(({ request }) => request.expected),
  ];
  return { text, values: [...places, ...group.flatMap(editingValues)] };
}

const valuesOf = <Given>(parameters: Parameters<Given>, given: Given): readonly unknown[] =>
  Object.values(parameters).map((value) => value(given));

export const appendValues = (appending: Appending): readonly unknown[] => valuesOf(APPEND, appending);
export const groupValues = (group: readonly Appending[]): readonly unknown[] => valuesOf(APPEND_MANY, group);
export const editingValues = (appending: Appending): readonly unknown[] => valuesOf(APPEND_WITH_EDITS, appending);
export const indexingValues = (indexing: Indexing): readonly unknown[] => valuesOf(INDEX_WORDS, indexing);

/** Nearly every append adds one record and changes nothing else. */
export const isOneRecord = ({ more = [], replace = [], drop = [], dropBelow }: AppendRequest): boolean =>
  more.length === 0 && replace.length === 0 && drop.length === 0 && dropBelow === undefined;

/** What `append_many` takes: it creates no thread, and knows neither names nor an end. */
export const mayShare = ({ request }: Appending): boolean =>
  request.expected > 0 && isOneRecord(request) && request.record.names === undefined && request.ttlMs === undefined;

/** What `editingMany` takes. */
export const mayShareEdits = ({ request }: Appending): boolean => request.expected > 0 && request.ttlMs === undefined;
