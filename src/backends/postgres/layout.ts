import { createHash } from "node:crypto";
import { createFunctions, functionSignatures } from "./functions.ts";
import { assertNames } from "./names.ts";

/**
 * <schema>.<prefix>threads   one row a thread: the only row two writers meet on
 *   thread_id   text, bytewise           PRIMARY KEY
 *   generation  text
 *   tail, head  integer                  positions of the newest record and of the newest checkpoint
 *   metadata    jsonb                    of the head checkpoint, for queries; NULL where there is none
 *   unindexed   boolean                  it has some that jsonb cannot hold (\u0000, half a surrogate pair)
 *   indexed     integer                  up to which position the words are indexed: saves do not wait for that
 *   stale       boolean                  whether there may be more to index
 *   edits       integer                  how often records were taken out or replaced: for processes of version 1, which ask it
 *   expires_at  timestamptz              NULL: never. Past it, the thread is not there for anybody
 *
 * <schema>.<prefix>records   one row a record; goes with its thread
 *   thread_id, seq                       PRIMARY KEY
 *   base, head, write_id (NULL: same as checkpoint_id), checkpoint_id, header
 *   metadata    text                     exactly as it was given
 *   body        bytea
 *
 * <schema>.<prefix>words     what search looks at; goes with its thread
 *   thread_id, seq                       PRIMARY KEY
 *   words       tsvector                 of the messages that the record brought in, and of no others
 *
 * <schema>.<prefix>watchers  who wants to be told about a thread: without one, a save notifies nobody
 *   thread_id, watcher                   PRIMARY KEY
 *   until       timestamptz
 *
 * <schema>.<prefix>schema    the version of all this
 *
 * <schema>.<prefix>append, <prefix>append_with_edits, <prefix>index_words: see functions.ts
 *
 * The thread id comes first in every key, so that the tables can be partitioned by it.
 */
export interface TableNames {
  readonly schema: string;
  readonly threads: string;
  readonly records: string;
  readonly words: string;
  readonly watchers: string;
  readonly version: string;
  readonly append: string;
  readonly appendWithEdits: string;
  readonly indexWords: string;
  /** Of notifications. */
  readonly channel: string;
  /** Names in a schema of their own need no schema in front: those of indexes. */
  readonly prefix: string;
}

export function tableNames(schema: string, prefix: string): TableNames {
  assertNames(schema, prefix);
  const named = (name: string): string => `"${schema}"."${prefix}${name}"`;
  return {
    schema: `"${schema}"`,
    threads: named("threads"),
    records: named("records"),
    words: named("words"),
    watchers: named("watchers"),
    version: named("schema"),
    append: named("append"),
    appendWithEdits: named("append_with_edits"),
    indexWords: named("index_words"),
    channel: `holdfast_${createHash("sha256").update(`${schema}.${prefix}`).digest("hex").slice(0, 32)}`,
    prefix,
  };
}

type Migration = (names: TableNames, partitions: number) => readonly string[];

/**
 * In order; the version of the tables is how many of them were applied. One that
 * was released is never changed. The functions are made anew behind the last.
 */
const MIGRATIONS: readonly Migration[] = [
  firstTables,
  // Words are indexed by a function, and an append refuses a checkpoint id that is taken.
  () => [],
];

/** A table as it is, or in so many parts by the hash of the thread id. */
function table(name: string, columns: string, partitions: number, storage = ""): readonly string[] {
  if (partitions === 0) return [`CREATE TABLE ${name} (${columns}) ${storage}`.trimEnd()];
  const parts = Array.from({ length: partitions }, (_, part) => {
    const values = `FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${part})`;
    return `CREATE TABLE ${name.replace(/"$/, `_${part}"`)} PARTITION OF ${name} ${values} ${storage}`.trimEnd();
  });
  return [`CREATE TABLE ${name} (${columns}) PARTITION BY HASH (thread_id)`, ...parts];
}

function firstTables(names: TableNames, partitions: number): readonly string[] {
  const { threads, records, words, watchers, prefix } = names;
  return [
    ...table(
      threads,
      `
       thread_id text COLLATE "C" PRIMARY KEY,
       generation text NOT NULL,
       tail integer NOT NULL,
       head integer NOT NULL,
       metadata jsonb,
       unindexed boolean NOT NULL DEFAULT false,
       indexed integer NOT NULL DEFAULT 0,
       stale boolean NOT NULL DEFAULT true,
       edits integer NOT NULL DEFAULT 0,
       expires_at timestamptz
     `,
      partitions,
      "WITH (fillfactor = 70)",
    ),
    `CREATE INDEX "${prefix}threads_by_metadata" ON ${threads} USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL`,
    `CREATE INDEX "${prefix}threads_unindexed" ON ${threads} (thread_id) WHERE unindexed`,
    `CREATE INDEX "${prefix}threads_stale" ON ${threads} (thread_id) WHERE stale`,
    `CREATE INDEX "${prefix}threads_by_expiry" ON ${threads} (expires_at) WHERE expires_at IS NOT NULL`,
    ...table(
      records,
      `
       thread_id text COLLATE "C" NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
       seq integer NOT NULL,
       base integer NOT NULL,
       head integer NOT NULL,
       write_id text,
       checkpoint_id text COLLATE "C",
       header text NOT NULL,
       metadata text,
       body bytea NOT NULL,
       PRIMARY KEY (thread_id, seq)
     `,
      partitions,
    ),
    `CREATE INDEX "${prefix}records_by_checkpoint" ON ${records} (thread_id, checkpoint_id) WHERE checkpoint_id IS NOT NULL`,
    ...table(
      words,
      `
       thread_id text COLLATE "C" NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
       seq integer NOT NULL,
       words tsvector NOT NULL,
       PRIMARY KEY (thread_id, seq)
     `,
      partitions,
    ),
    `CREATE INDEX "${prefix}words_by_word" ON ${words} USING gin (words)`,
    `CREATE TABLE ${watchers} (
       thread_id text COLLATE "C" NOT NULL,
       watcher text NOT NULL,
       until timestamptz NOT NULL,
       PRIMARY KEY (thread_id, watcher)
     )`,
  ];
}

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** The statements that bring tables of `version` up to date; 0 means that there are none. */
export function migrationsFrom(version: number, names: TableNames, partitions = 0): readonly string[] {
  const changes = MIGRATIONS.slice(version).flatMap((migration) => migration(names, partitions));
  const statements = [...changes, ...createFunctions(names)];
  if (version > 0) return [...statements, `UPDATE ${names.version} SET version = ${SCHEMA_VERSION}`];
  return [
    `CREATE TABLE ${names.version} (version integer NOT NULL)`,
    ...statements,
    `INSERT INTO ${names.version} (version) VALUES (${SCHEMA_VERSION})`,
  ];
}

/** Everything, for reading, and for a deployment that makes the tables itself. */
export function ddl(names: TableNames, role: string | undefined, partitions: number): readonly string[] {
  const tables = [names.threads, names.records, names.words, names.watchers];
  const quoted = role === undefined ? "" : `"${role.replaceAll('"', '""')}"`;
  return [
    ...(names.schema === '"public"' ? [] : [`CREATE SCHEMA IF NOT EXISTS ${names.schema}`]),
    ...migrationsFrom(0, names, partitions),
    ...(role === undefined
      ? []
      : [
          `GRANT USAGE ON SCHEMA ${names.schema} TO ${quoted}`,
          `GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables.join(", ")} TO ${quoted}`,
          `GRANT SELECT ON ${names.version} TO ${quoted}`,
          ...functionSignatures(names).map((signature) => `GRANT EXECUTE ON FUNCTION ${signature} TO ${quoted}`),
        ]),
  ];
}
