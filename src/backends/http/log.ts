import { setMaxListeners } from "node:events";
import { assertAppend } from "../../checkpoint/log/driver-rules.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type FoundRecords,
  type KnownPlace,
  type ListedThread,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type SearchRange,
  type ThreadLog,
  type ThreadTail,
} from "../../checkpoint/log/thread-log.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import {
  COPY_OUTCOMES,
  decodeChain,
  encodeAppend,
  REMOVE_OUTCOMES,
  readCapabilities,
  readEntries,
  readFound,
  readFoundEntry,
  readFoundTail,
  readOutcome,
  readPage,
} from "../../wire/messages.ts";
import { entityTag, idempotencyKey } from "../../wire/names.ts";
import type { Operation } from "../../wire/routes.ts";
import { classify } from "./classify.ts";
import { ask, type Connection, fieldsOf, type Question, type ServiceAnswer } from "./requests.ts";
import { watchRemote } from "./watching.ts";

/** What the service adds to its storage. It keeps a deferred index up to date itself. */
const OF_THE_SERVICE = { connects: true, subscribe: true, clock: true };

/** The least that any service has, before it was asked. */
const CAPABILITIES: LogCapabilities = {
  ...OF_THE_SERVICE,
  durability: "memory",
  conditionalAppend: false,
  listThreads: false,
  ttl: false,
  maxRecordBytes: 64 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
};

/** The log of a service: every operation is one request. It offers what the service's storage offers. */
export class HttpLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "http";
  readonly secrets: readonly string[];
  readonly #connection: Connection;
  readonly #closing = new AbortController();
  #capabilities: LogCapabilities = CAPABILITIES;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
    this.secrets = connection.token === undefined ? [] : [connection.token];
    // Every request in progress listens to it, and there may be any number of them.
    setMaxListeners(0, this.#closing.signal);
  }

  get capabilities(): LogCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    const remote = readCapabilities(fieldsOf(await this.#ask("capabilities")));
    this.#capabilities = { ...remote, ...OF_THE_SERVICE };
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const { expected, record } = request;
    const condition = expected.seq === 0 ? { "if-none-match": "*" } : { "if-match": entityTag(expected) };
    const headers = { ...condition, "idempotency-key": idempotencyKey(record.writeId) };
    const body = encodeAppend(request);
    return readOutcome(fieldsOf(await this.#ask("append", { ids: { thread: threadId }, headers, body })));
  }

  async readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    const query = newerThan && { after: newerThan.seq, generation: newerThan.generation, write: newerThan.writeId };
    return chainIn(await this.#ask("readTail", { ids: { thread: threadId }, ...(query && { query }) }));
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return chainIn(await this.#ask("readCheckpoint", { ids: { thread: threadId, checkpoint: name } }));
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const answer = await this.#ask("entry", { ids: { thread: threadId, checkpoint: name } });
    return readFoundEntry(fieldsOf(answer));
  }

  async readRecords(threadId: string, options: { before?: number; limit: number }): Promise<LogChain | undefined> {
    const { before, limit } = options;
    return chainIn(await this.#ask("readRecords", { ids: { thread: threadId }, query: { before, limit } }));
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    return readFoundTail(fieldsOf(await this.#ask("tail", { ids: { thread: threadId } })));
  }

  async list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    const { before, limit } = options;
    return readEntries(fieldsOf(await this.#ask("list", { ids: { thread: threadId }, query: { before, limit } })));
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    const headers = ifTail === undefined ? {} : { "if-match": entityTag(ifTail) };
    return fieldsOf(await this.#ask("remove", { ids: { thread: threadId }, headers })).oneOf(
      "outcome",
      REMOVE_OUTCOMES,
    );
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const answer = await this.#ask("copy", { ids: { thread: source }, body: { target, generation } });
    return fieldsOf(answer).oneOf("outcome", COPY_OUTCOMES);
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ListedThread>> {
    const { prefix, cursor, limit } = options;
    // No id begins with half a surrogate pair, and a URL cannot hold one.
    if (!prefix.isWellFormed()) return { items: [], cursor: undefined };
    const query = { prefix: prefix === "" ? undefined : prefix, cursor, limit };
    return readPage(fieldsOf(await this.#ask("listThreads", { query })));
  }

  override subscribe(threadId: string, onChange: () => void): () => void {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#closing.signal]);
    void watchRemote(this.#connection, threadId, onChange, signal);
    return () => stop.abort();
  }

  override async now(): Promise<number> {
    return fieldsOf(await this.#ask("now")).number("now");
  }

  /** The protocol has no such call: scrubbing the service's storage is up to its operator. */
  override async scrub(): Promise<ScrubReport> {
    const where = "traces in the files of the storage behind the service";
    return {
      done: [],
      remains: [`${where}: erase there with PersonalData on that storage itself, or clean it by hand`],
    };
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  override async search(words: readonly string[], { limit, prefix, after }: SearchRange): Promise<FoundRecords> {
    return readFound(fieldsOf(await this.#ask("search", { body: { words, limit, prefix, after } })));
  }

  override async queryMetadata(
    key: string,
    valueJson: string,
    { cursor, limit, prefix }: { cursor?: string; limit: number; prefix?: string },
  ): Promise<LogPage<ListedThread>> {
    const body = { key, valueJson, cursor, limit, prefix };
    return readPage(fieldsOf(await this.#ask("queryMetadata", { body })));
  }

  async #ask(operation: Operation, question: Question = {}): Promise<ServiceAnswer> {
    if (this.#closing.signal.aborted) throw new StateError("CLOSED", "the connection to the service was closed");
    return ask(this.#connection, operation, question, this.#closing.signal);
  }
}

/** A frame, or the explicit answer that there is nothing. */
function chainIn(answer: ServiceAnswer): LogChain | undefined {
  if (answer.isFrame) return decodeChain(answer.bytes);
  if (fieldsOf(answer).flag("found")) throw new StateError("UNAVAILABLE", "the answer holds no records");
  return undefined;
}
