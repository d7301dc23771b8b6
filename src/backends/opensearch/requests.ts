import type { Access } from "../../driver/access.ts";
import { StateError } from "../../errors.ts";
import { ServerFailure, statusOf, typeOf } from "./classify.ts";
import type { OpenSearchClient, OpenSearchRequest } from "./connect.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The version of a document that was read or written: a conditional write names it. */
export interface Revision {
  readonly seqNo: number;
  readonly term: number;
}

export interface Document {
  readonly source: Json;
  readonly revision: Revision;
  /** For a record: the position of the append that wrote it. */
  readonly version: number;
}

export interface Hit {
  readonly id: string;
  readonly source: Json;
  readonly score: number;
  readonly sort: readonly unknown[];
}

/** One line of a bulk request, and the document that it writes. */
export interface BulkItem {
  readonly action: Readonly<Record<string, Json>>;
  readonly source?: Json;
}

export interface BulkAnswer {
  readonly status: number;
  readonly revision: Revision;
  /** Present if it failed for another reason than its condition. */
  readonly failure: ServerFailure | undefined;
}

export interface RequestSettings {
  readonly index: string;
  readonly requestTimeoutMs: number;
  readonly waitForActiveShards: string | undefined;
  /** @default "write" */
  readonly access?: Access;
}

/** A replica that has not received the latest write, or does not know that it was cut off, must not answer. */
const PRIMARY = { preference: "_primary" };

/**
 * The few calls that are made to OpenSearch. The client never retries: the
 * checkpointer does, because it knows which write was whose. "Not there" is believed
 * only if the server says exactly that of a document.
 */
export class Requests {
  readonly #client: OpenSearchClient;
  readonly #settings: RequestSettings;
  readonly #path: string;
  readonly #isAlias: boolean;

  constructor(client: OpenSearchClient, settings: RequestSettings, isAlias: boolean) {
    this.#client = client;
    this.#settings = settings;
    this.#path = `/${encodeURIComponent(settings.index)}`;
    this.#isAlias = isAlias;
  }

  get index(): string {
    return this.#settings.index;
  }

  async send(request: OpenSearchRequest): Promise<Json> {
    try {
      const options = { maxRetries: 0, requestTimeout: this.#settings.requestTimeoutMs };
      const { body } = await this.#client.transport.request(request, options);
      if (typeof body === "object" && body !== null) return body as Json;
    } catch (error) {
      const status = statusOf(error);
      // The client has no message for an answer that is not OpenSearch's own.
      if (status !== undefined && typeOf(error) === "" && isRefusal(error)) {
        throw new ServerFailure(status, { type: "response", reason: `HTTP status ${status}` });
      }
      throw error;
    }
    throw new StateError("UNAVAILABLE", "the answer is not OpenSearch's: something else listens there");
  }

  async get(id: string, without: readonly string[] = []): Promise<Document | undefined> {
    const excludes = without.length === 0 ? undefined : { _source_excludes: without.join(",") };
    try {
      const path = `${this.#path}/_doc/${encodeURIComponent(id)}`;
      return toDocument(await this.send({ method: "GET", path, querystring: { ...PRIMARY, ...excludes } }));
    } catch (error) {
      if (statusOf(error) === 404 && (error as { body?: Json }).body?.["found"] === false) return undefined;
      throw error;
    }
  }

  /** In the order of `ids`; all of one thread. */
  async getMany(
    routing: string,
    ids: readonly string[],
    without: readonly string[] = [],
  ): Promise<(Document | undefined)[]> {
    const found: (Document | undefined)[] = [];
    for (let start = 0; start < ids.length; start += DOCUMENTS_AT_ONCE) {
      const docs = ids.slice(start, start + DOCUMENTS_AT_ONCE).map((_id) => ({ _id, routing }));
      found.push(...(await this.#getSome(docs, without)));
    }
    return found;
  }

  async #getSome(docs: readonly object[], without: readonly string[]): Promise<(Document | undefined)[]> {
    const excludes = without.length === 0 ? undefined : { _source_excludes: without.join(",") };
    const answer = await this.send({
      method: "POST",
      path: `${this.#path}/_mget`,
      querystring: { ...PRIMARY, ...excludes },
      body: JSON.stringify({ docs }),
    });
    const found = answer["docs"] as readonly Json[] | undefined;
    if (found?.length !== docs.length) throw incomplete();
    return found.map((document) => {
      if (document["error"] !== undefined) throw new ServerFailure(503, document["error"]);
      return document["found"] === false ? undefined : toDocument(document);
    });
  }

  /** The documents of several threads, each in its own shard. */
  async getThreads(keys: readonly string[], without: readonly string[]): Promise<(Document | undefined)[]> {
    return keys.length === 0
      ? []
      : this.#getSome(
          keys.map((_id) => ({ _id })),
          without,
        );
  }

  /** Carried out in order within one shard. The caller must check for failed items. */
  async bulk(items: readonly BulkItem[]): Promise<readonly BulkAnswer[]> {
    return this.#bulk(items.map(textOf));
  }

  /** Any number of items, in as many requests as their size requires: a request is limited, and so is the server's memory. */
  async bulkAll(items: Iterable<BulkItem>): Promise<void> {
    let portion: string[] = [];
    let size = 0;
    for (const item of items) {
      const text = textOf(item);
      portion.push(text);
      size += text.length;
      if (size < PORTION_CHARACTERS && portion.length < ITEMS_AT_ONCE) continue;
      throwFailures(await this.#bulk(portion));
      portion = [];
      size = 0;
    }
    if (portion.length > 0) throwFailures(await this.#bulk(portion));
  }

  async #bulk(items: readonly string[]): Promise<readonly BulkAnswer[]> {
    const { waitForActiveShards } = this.#settings;
    // A write to a missing name would create an index without a mapping. If the name is an alias, writes require it to be one.
    const guard = this.#isAlias ? [] : [NO_NEW_INDEX];
    const answer = await this.send({
      method: "POST",
      path: `${this.#path}/_bulk`,
      querystring: {
        ...(this.#isAlias && { require_alias: "true" }),
        ...(waitForActiveShards !== undefined && { wait_for_active_shards: waitForActiveShards }),
      },
      bulkBody: [...items, ...guard].join(""),
    });
    const answers = (answer["items"] as readonly Readonly<Record<string, Json>>[] | undefined)?.flatMap(Object.values);
    if (answers?.length !== items.length + guard.length) throw incomplete();
    return answers.slice(0, items.length).map(toBulkAnswer);
  }

  /** One conditional write of one document; `undefined` if the condition does not hold. */
  async write(item: BulkItem): Promise<Revision | undefined> {
    const answers = await this.bulk([item]);
    throwFailures(answers);
    const [answer] = answers;
    return answer === undefined || answer.status === 409 || answer.status === 404 ? undefined : answer.revision;
  }

  async search(body: Json): Promise<readonly Hit[]> {
    return (await this.searchWithFigures(body)).hits;
  }

  /** With a routing, only in that shard. */
  async searchWithFigures(body: Json, routing?: string): Promise<{ hits: readonly Hit[]; aggregations: Json }> {
    const answer = await this.send({
      method: "POST",
      path: `${this.#path}/_search`,
      // A shard that does not answer must not look like an empty one.
      querystring: { ...PRIMARY, allow_partial_search_results: "false", ...(routing !== undefined && { routing }) },
      body: JSON.stringify({ track_total_hits: false, ...body }),
    });
    const { hits } = (answer["hits"] ?? {}) as { hits?: readonly Json[] };
    if (hits === undefined || answer["timed_out"] === true) throw incomplete();
    return { hits: hits.map(toHit), aggregations: (answer["aggregations"] ?? {}) as Json };
  }

  /** Whether the server has blocked the index because of a full disk. */
  async hasFloodBlock(): Promise<boolean> {
    const querystring = { filter_path: "*.settings.index.blocks" };
    const [description] = Object.values(await this.send({ method: "GET", path: this.#path, querystring }));
    const { settings } = (description ?? {}) as { settings?: { index?: { blocks?: Json } } };
    return String(settings?.index?.blocks?.["read_only_allow_delete"]) === "true";
  }

  /** Sets or lifts the block of a full disk. */
  async setFloodBlock(isBlocked: boolean): Promise<void> {
    const body = JSON.stringify({ "index.blocks.read_only_allow_delete": isBlocked ? true : null });
    await this.send({ method: "PUT", path: `${this.#path}/_settings`, body });
  }

  /** Rewrites every shard without replaced and deleted documents. Waits as long as that takes. */
  async expunge(): Promise<void> {
    const path = `${this.#path}/_forcemerge`;
    const answer = await this.send({ method: "POST", path, querystring: { max_num_segments: "1", flush: "true" } });
    const { failed } = (answer["_shards"] ?? {}) as { failed?: number };
    if (failed !== 0) throw incomplete();
  }

  /**
   * Lets searches see what was written until now. That makes the server write
   * segments, so with read access we wait for its own refresh.
   */
  async refresh(): Promise<void> {
    if (this.#settings.access === "read") return;
    const answer = await this.send({ method: "POST", path: `${this.#path}/_refresh` });
    const { failed } = (answer["_shards"] ?? {}) as { failed?: number };
    if (failed !== 0) throw incomplete();
  }
}

const DOCUMENTS_AT_ONCE = 500;
const ITEMS_AT_ONCE = 1000;
const PORTION_CHARACTERS = 4 * 1024 * 1024;

const textOf = ({ action, source }: BulkItem): string =>
  `${JSON.stringify(action)}\n${source === undefined ? "" : `${JSON.stringify(source)}\n`}`;

/**
 * Keeps a bulk request from creating an index: one item that requires an alias is
 * enough for that. If the name is an index, this item is refused and the others are
 * carried out; our mapping would refuse it too.
 */
const NO_NEW_INDEX = textOf({ action: { create: { _id: "guard", require_alias: true } }, source: { guard: true } });

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && error.name === "ResponseError" && (error as { body?: Json }).body?.["found"] !== false;

function toDocument(answer: Json): Document {
  const source = answer["_source"];
  if (answer["found"] !== true || typeof source !== "object" || source === null) throw incomplete();
  return { source: source as Json, revision: revisionOf(answer), version: Number(answer["_version"]) };
}

const toHit = (hit: Json): Hit => ({
  id: String(hit["_id"]),
  source: (hit["_source"] ?? {}) as Json,
  score: Number(hit["_score"] ?? 0),
  sort: (hit["sort"] ?? []) as readonly unknown[],
});

const revisionOf = (answer: Json): Revision => ({
  seqNo: Number(answer["_seq_no"]),
  term: Number(answer["_primary_term"]),
});

/** 409: its condition does not hold. 404: there was nothing to delete. */
function toBulkAnswer(answer: Json): BulkAnswer {
  const status = Number(answer["status"]);
  if (Number.isNaN(status)) throw incomplete();
  const fails = answer["error"] !== undefined && status !== 409;
  return {
    status,
    revision: revisionOf(answer),
    failure: fails ? new ServerFailure(status, answer["error"]) : undefined,
  };
}

function throwFailures(answers: readonly BulkAnswer[]): void {
  for (const { failure } of answers) if (failure !== undefined) throw failure;
}

const incomplete = (): StateError => new StateError("UNAVAILABLE", "the answer of OpenSearch is incomplete");
