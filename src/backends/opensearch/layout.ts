import { createHash, randomBytes } from "node:crypto";

/**
 * How threads lie in an index.
 *
 *   alias <indexName>  →  index <indexName>-1
 *
 *   _id                     document
 *   <thread>                { kind: "head", thread: "user-42", … }     one for each thread: its newest record, whole,
 *                                                                      and what listing and metadata queries look at
 *   <thread>.<life>.41      { kind: "record", thread: "user-42", … }   one for each older record
 *   <thread>.<life>.40      { kind: "stub" }                           the place of one that was taken out
 *   <thread>                { kind: "gone", … }                        no thread: what is still to be cleared away
 *
 * `<thread>` is a hash of the namespace and the id, because an _id has at most
 * 512 bytes and a thread id may have more. `<life>` is random and never used again: whatever is
 * late finds no reader. All documents of a thread are routed by `<thread>`, so
 * that they lie in one shard.
 *
 * OpenSearch has no transactions. Four rules make them out of what it has:
 *
 * 1. Every change of a thread is one conditional write of its head document
 *    (`if_seq_no`, `if_primary_term`, or `op_type=create`): appends, removals and
 *    copies alike. That write commits; everything else prepares it or clears up.
 * 2. An append puts the record that was the newest into a document of its own
 *    and the new one into the head. Both travel in one bulk request to one shard,
 *    which carries it out in order, in one translog and with one sync. What the
 *    first item writes has been accepted in the head document before, field by
 *    field, so it is hardly ever refused alone (where it is, the head is put
 *    back); and it is the same whoever writes it.
 * 3. Edits travel in the head document that commits them, and so do records that come together with the newest. They are carried out
 *    afterwards, and again if that was interrupted, before the next append
 *    replaces the head; readers see through them. Documents of records carry the
 *    position of the append that wrote them as their (external) version: an older
 *    write never replaces a newer one, however late it arrives, and a reader
 *    knows a document that is newer than the head it read. A stub keeps the place
 *    of a dropped record for the same reason. Below the floor nothing is read.
 * 4. A removed thread first becomes a "gone" document that names what is left to
 *    delete, without the thread's id; it goes last. A copy announces itself in
 *    the same way. Whoever comes upon one after a crash finishes it.
 *
 * Reading is by _id, which is up to date without a refresh. Only what must be
 * found by its contents is searched for, after a refresh.
 */

/**
 * Written into the mapping: which part of holdfast lies in the index, and in
 * which version. Older versions load for ever; a newer one is refused.
 */
export const INDEX_MARK: { readonly part: string; readonly version: number } = { part: "checkpoints", version: 1 };

/** What a thread is called, by people and here. */
export interface ThreadName {
  readonly namespace: string;
  readonly threadId: string;
  /** The document of the thread, and the routing of all that belongs to it. */
  readonly key: string;
}

/** No id holds U+0000, so no two pairs are one text. */
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

/** Settings and mapping of the index, as the create-index and index-template APIs take them. */
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
      // Of the record that is in the document.
      seq: { type: "long" },
      names: { type: "keyword" },
      // Words come normalised; a space is all there is between them.
      words: { type: "text", analyzer: "whitespace", index_options: "freqs" },
      // Of the head checkpoint: whether there is one, and a hash for each member of its metadata.
      listed: { type: "boolean" },
      tags: { type: "keyword", doc_values: false },
      // Kept as they are and not looked into: content must not become fields.
      record: { type: "object", enabled: false },
      log: { type: "object", enabled: false },
    },
  },
});
