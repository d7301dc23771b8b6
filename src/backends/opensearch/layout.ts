import { createHash, randomBytes } from "node:crypto";

/**
 * How threads are stored in an index.
 *
 *   alias <indexName>  →  index <indexName>-1
 *
 *   _id                     document
 *   <thread>                { kind: "head", thread: "user-42", … }     one per thread: its newest record, complete,
 *                                                                      and the fields for listing and metadata queries
 *   <thread>.<life>.41      { kind: "record", thread: "user-42", … }   one per older record
 *   <thread>.<life>.40      { kind: "stub" }                           the place of a removed record
 *   <thread>                { kind: "gone", … }                        no thread: what is left to clean up
 *
 * `<thread>` is a hash of the namespace and the id, because an _id has at most
 * 512 bytes and a thread id may have more. `<life>` is random and never reused, so
 * that a late write is never read. All documents of a thread are routed by
 * `<thread>`, so that they are in one shard.
 *
 * OpenSearch has no transactions. Four rules replace them:
 *
 * 1. Every change of a thread is one conditional write of its head document
 *    (`if_seq_no`, `if_primary_term`, or `op_type=create`): appends, removals and
 *    copies alike. That write commits; everything else prepares it or cleans up.
 * 2. An append moves the record that was the newest into its own document and
 *    puts the new one into the head. Both are in one bulk request to one shard,
 *    which carries it out in order, in one translog and with one sync. The server
 *    has accepted the first item's content before, field by field, in the head
 *    document, so it is hardly ever refused alone. (If it is, the head is
 *    restored.) Its content is the same for every writer.
 * 3. Edits are stored in the head document that commits them, and so are records
 *    that are appended together with the newest. They are carried out afterwards,
 *    and again if that was interrupted, before the next append replaces the head;
 *    readers apply them. Documents of records carry the position of the append
 *    that wrote them as their (external) version: a stale write never replaces a
 *    newer one, however late it arrives, and a reader recognises a document that
 *    is newer than the head it read. A stub keeps the place of a dropped record
 *    for the same reason. Nothing is read below the floor.
 * 4. A removed thread first becomes a "gone" document that lists what is left to
 *    delete, without the thread's id; it is deleted last. A copy announces itself
 *    in the same way. After a crash, the next process that finds one finishes it.
 *
 * Documents are read by _id, which needs no refresh. Only queries by content use
 * search, after a refresh.
 */

/**
 * Written into the mapping: which part of holdfast the index holds, and in which
 * version. Older versions can always be loaded; a newer one is refused.
 */
export const INDEX_MARK: { readonly part: string; readonly version: number } = { part: "checkpoints", version: 1 };

/** A thread's id and the key that is derived from it. */
export interface ThreadName {
  readonly namespace: string;
  readonly threadId: string;
  /** The _id of the thread's document, and the routing of everything that belongs to it. */
  readonly key: string;
}

/** No id contains U+0000, so two different pairs never make the same text. */
export const threadName = (namespace: string, threadId: string): ThreadName => ({
  namespace,
  threadId,
  key: createHash("sha256").update(`${namespace}\0${threadId}`, "utf8").digest("base64url"),
});

export const recordId = (key: string, life: string, seq: number): string => `${key}.${life}.${seq}`;

export const newLife = (): string => randomBytes(12).toString("base64url");

export interface IndexShape {
  readonly shards: number;
  readonly replicas: number;
}

/** Settings and mapping of the index, for the create-index and index-template APIs. */
export const indexBody = ({ shards, replicas }: IndexShape): object => ({
  settings: {
    index: {
      number_of_shards: shards,
      number_of_replicas: replicas,
      translog: { durability: "request" },
    },
  },
  mappings: {
    _meta: { holdfast: INDEX_MARK },
    dynamic: "strict",
    properties: {
      kind: { type: "keyword" },
      namespace: { type: "keyword" },
      thread: { type: "keyword" },
      life: { type: "keyword" },
      // The position of the record in the document.
      seq: { type: "long" },
      names: { type: "keyword" },
      // Words are already normalised, and separated by single spaces.
      words: { type: "text", analyzer: "whitespace", index_options: "freqs" },
      // Whether there is a head checkpoint, and a hash for each member of its metadata.
      listed: { type: "boolean" },
      tags: { type: "keyword", doc_values: false },
      // Stored but not indexed: content must not become fields.
      record: { type: "object", enabled: false },
      log: { type: "object", enabled: false },
    },
  },
});
