/**
 * What the log asks of a database. The texts of reads are written once (`reads.ts`), with `:name` where a value
 * belongs; a dialect says how the few things are written in which databases differ. Changes are the dialect's own:
 * `plainChanges` makes them with plain transactions, and a database that has a program of one round trip brings that.
 */

/** A row, by the columns' names in lower case. Texts and numbers may come in any form that `rows.ts` reads. */
export type Row = Readonly<Record<string, unknown>>;

export type Value = string | number | Uint8Array | null | undefined;
export type Values = Readonly<Record<string, Value>>;

/** A statement as the client takes it, and the names of its values in the order of their places. */
export interface SqlText {
  readonly text: string;
  readonly names: readonly string[];
}

/** How a database writes what databases write differently. */
export interface SqlDialect {
  /** A text with `:name` for values, as the client takes it. */
  statement(text: string): SqlText;
  /** Ends a query that returns at most `:most` rows: `LIMIT :most`. */
  page(name: string): string;
  /** The server's clock, as `expires_at` is compared with it. */
  readonly now: string;
  /** The milliseconds that the thread `t` has left; NULL if it does not expire. */
  readonly ttlMs: string;
  /** The query for the server's clock in milliseconds since 1970, as `now`. */
  readonly clock: string;
  /** The columns of an entry. */
  entry(table: string): string;
  /** The columns of a body, only where the condition holds. */
  body(table: string, wanted?: string): string;
  /** The length of a body, without reading it. */
  bytesOf(table: string): string;
  /** Whether a thread has something to index. It may go by `:after`, an id before that of every such thread that is wanted. */
  readonly stale: string;
  /** The columns that tell how far a thread is indexed. */
  readonly progress: string;
  /** A further column of a record that is to be indexed. */
  readonly version?: string;
}

export interface SqlTables {
  readonly threads: string;
  readonly records: string;
  readonly names: string;
}

const VALUE = /(?<![:\w]):([a-z]\w*)/g;

/** `$1`, for clients that count: a value that stands in two places has one number. */
export function numbered(text: string): SqlText {
  const names: string[] = [];
  const numberOf = (_: string, name: string): string => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  };
  return { text: text.replace(VALUE, numberOf), names };
}

/** `?`, for clients that only go by the order. */
export function positional(text: string): SqlText {
  const names = Array.from(text.matchAll(VALUE), ([, name = ""]) => name);
  return { text: text.replace(VALUE, "?"), names };
}

/** The values of a statement, in its order. */
export const valuesOf = ({ names }: SqlText, values: Values): readonly Value[] => names.map((name) => values[name]);
