import { createHash } from "node:crypto";
import { StateError } from "../../errors.ts";

/**
 * <schema>.<prefix>threads   one row a thread: the only row two writers meet on
 *   thread_id   text, bytewise           PRIMARY KEY
 *   generation  text
 *   tail, head  integer                  positions of the newest record and of the newest checkpoint
 *   metadata    jsonb                    of the head checkpoint, for queries; NULL where there is none
 *   unindexed   boolean                  it has some that jsonb cannot hold (\u0000, half a surrogate pair)
 *   indexed     integer                  up to which position the words are indexed: saves do not wait for that
 *   stale       boolean                  whether there may be more to index
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
 * <schema>.<prefix>append, <prefix>append_with_edits, <prefix>index_words: the functions that write
 *
 * <schema>.<prefix>schema    the version of each part: parts.ts. All of the above is the part `checkpoints`
 *   part        text                     PRIMARY KEY
 *   version     integer
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

/** A name may have 63 bytes, and the longest suffix of ours has 22. */
const PREFIX = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

export function tableNames(schema: string, prefix: string): TableNames {
  if (!PREFIX.test(prefix)) {
    throw new StateError("INVALID_ARGUMENT", "tablePrefix must be letters, digits and underscores, at most 40 of them");
  }
  if (!SCHEMA.test(schema)) {
    throw new StateError("INVALID_ARGUMENT", "schema must be letters, digits and underscores, at most 63 of them");
  }
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
