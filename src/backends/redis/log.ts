import { assertAppend, MOST_BYTES_READ } from "../../checkpoint/log/driver-rules.ts";
import {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type KnownPlace,
  type ListedThread,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type ThreadLog,
  type ThreadTail,
} from "../../checkpoint/log/thread-log.ts";
import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import { Groups } from "../../driver/groups.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { type Appending, appendWays } from "./append-groups.ts";
import { classify, isDeclined } from "./classify.ts";
import type { RedisConnection } from "./connect.ts";
import { CREATE_WITHIN_MS, type KeyNames, keyNames } from "./layout.ts";
import type { Link, ReachedServer } from "./link.ts";
import type { Send } from "./port.ts";
import { asReply, asText, chainIn, entriesIn, entryAt, type Reply, refusalIn } from "./replies.ts";
import type { RunScript } from "./run-script.ts";
import { ScannedIds } from "./scanned-ids.ts";
import { APPEND, APPEND_MANY, appendArguments } from "./scripts/append.ts";
import { APPEND_PLAIN, isPlain, plainArguments } from "./scripts/append-plain.ts";
import { COPY, EXPORT, IMPORT, REMOVE } from "./scripts/changing.ts";
import { LIST, READ_CHECKPOINT, READ_ENTRY, READ_NEWEST, READ_RECORDS, READ_TAIL } from "./scripts/reading.ts";
import type { Script } from "./scripts/script.ts";
import { ANNOUNCE, NOW } from "./scripts/thread-index.ts";
import { rewriteFiles } from "./scrubbing.ts";
import { forgetAbsent, walkThreads } from "./thread-walk.ts";

export interface RedisLogOptions {
  readonly connection: RedisConnection;
  readonly prefix: string;
  /** How long a thread lives after its last append, unless the append sets its own limit. */
  readonly lifetimeMs: number | undefined;
}

type Range = { readonly before?: number; readonly limit: number };

/** As `APPEND` says it. */
const APPENDED: Reply = [Buffer.from("appended")];
const DONE: AppendOutcome = { appended: true };

/** In plain digits, whatever the number: Lua cannot read other forms. */
const positionIn = (before: number = Number.MAX_SAFE_INTEGER): string =>
  String(Math.min(before, Number.MAX_SAFE_INTEGER));

const placeArguments = ({ generation, seq, writeId }: KnownPlace): readonly string[] => [
  generation,
  positionIn(seq),
  writeId,
];

const CAPABILITIES: LogCapabilities = {
  durability: "memory",
  conditionalAppend: true,
  listThreads: true,
  ttl: true,
  // A string may have 512 MB, but the server is blocked while it receives one.
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
  connects: true,
  clock: true,
};

/**
 * Threads in Redis or Valkey: one hash per thread, and one sorted set of their ids.
 * Every method is one script, which the server runs atomically. (In a cluster,
 * creating, copying and listing take a few more.)
 */
export class RedisLog extends BaseThreadLog implements ThreadLog {
  readonly name: string = "redis";
  readonly secrets: readonly string[];
  readonly #lifetimeMs: number | undefined;
  readonly #keys: KeyNames;
  #capabilities: LogCapabilities = CAPABILITIES;
  readonly #link: Lease<Link>;
  /** Present only with read access. */
  readonly #scanned: ScannedIds | undefined;
  readonly #plain = new Groups(
    appendWays({
      one: (appending) => this.#appendPlain(appending),
      many: (group) => this.#appendPlainMany(group),
      isOneServer: () => this.#isOneServer,
    }),
  );
  readonly #appends = new Groups(
    appendWays({
      one: (appending) => this.#append(appending),
      many: (group) => this.#appendMany(group),
      isOneServer: () => this.#isOneServer,
    }),
  );
  /** The connection once it was opened, until this log is closed. */
  #opened: Link | undefined;
  /** False until the first contact. */
  #isOneServer = false;

  constructor({ connection, prefix, lifetimeMs }: RedisLogOptions) {
    super();
    // Nothing is prepared in advance: a thread's keys are created with it.
    this.#link = connection.lease(async (link) => link);
    this.#keys = keyNames(prefix);
    this.#lifetimeMs = lifetimeMs;
    this.#scanned = connection.access === "read" ? new ScannedIds() : undefined;
    this.secrets = connection.secrets;
  }

  get capabilities(): LogCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    await this.#server();
  }

  async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertAppend(request);
    const reply = await (isPlain(request) ? this.#plain : this.#appends).call({ threadId, request });
    if (reply === APPENDED) return DONE;
    const answer = asText(reply[0]);
    if (answer === "invalid") throw new StateError("INVALID_ARGUMENT", asText(reply[1]));
    return answer === "appended" ? DONE : refusalIn(reply, request.expected.seq);
  }

  async #appendPlain(appending: Appending): Promise<Reply> {
    const [reply] = await this.#appendPlainMany([appending]);
    return reply ?? this.#append(appending);
  }

  async #appendPlainMany(group: readonly Appending[]): Promise<readonly (Reply | undefined)[]> {
    const { run } = this.#opened?.reached ?? (await this.#server());
    const keys = group.map(({ threadId }) => this.#keys.thread(threadId));
    const requests = group.map(({ request }) => request);
    const digits = asText(await run(APPEND_PLAIN, keys, plainArguments(requests, this.#lifetimeMs)));
    // One that was not appended goes alone, by the script that knows every case.
    return group.map((_, place) => (digits[place] === "1" ? APPENDED : undefined));
  }

  #append({ threadId, request }: Appending): Promise<Reply> {
    const creates = request.expected.seq === 0;
    return this.#creating(creates ? threadId : undefined, async (run, createBefore) => {
      const keys = [this.#keys.thread(threadId), ...(creates && createBefore === undefined ? [this.#keys.ids] : [])];
      const lifetimeMs = this.#lifetimeMs;
      return asReply(await run(APPEND, keys, appendArguments(request, { threadId, createBefore, lifetimeMs }))) ?? [];
    });
  }

  async #appendMany(group: readonly Appending[]): Promise<readonly (Reply | undefined)[]> {
    const { run } = await this.#server();
    const keys = group.map(({ threadId }) => this.#keys.thread(threadId));
    const args = group.flatMap(({ threadId, request }) => {
      const own = appendArguments(request, { threadId, createBefore: undefined, lifetimeMs: this.#lifetimeMs });
      return [String(own.length), ...own];
    });
    const replies = (asReply(await run(APPEND_MANY, keys, args)) ?? []) as readonly unknown[];
    return replies.map((one) => {
      const reply = asReply(one) ?? [];
      return asText(reply[0]) === "failed" ? undefined : reply;
    });
  }

  async readTail(threadId: string, { newerThan }: { newerThan?: KnownPlace } = {}): Promise<LogChain | undefined> {
    const known = newerThan === undefined ? [] : placeArguments(newerThan);
    const reply = await this.#read(READ_TAIL, threadId, ...known);
    return reply && chainIn(reply);
  }

  async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    const reply = await this.#read(READ_CHECKPOINT, threadId, name);
    return reply && chainIn(reply);
  }

  async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const reply = await this.#read(READ_ENTRY, threadId, name);
    return reply && entryAt(reply, 0);
  }

  async readRecords(threadId: string, { before, limit }: Range): Promise<LogChain | undefined> {
    const range = [positionIn(before), String(limit), String(MOST_BYTES_READ)];
    const reply = await this.#read(READ_RECORDS, threadId, ...range);
    return reply && chainIn(reply);
  }

  async tail(threadId: string): Promise<ThreadTail | undefined> {
    const reply = await this.#read(READ_NEWEST, threadId);
    if (reply === undefined) return undefined;
    const ttlMs = Number(asText(reply[3]));
    return { generation: asText(reply[0]), entry: entryAt(reply, 1), ...(ttlMs >= 0 && { ttlMs }) };
  }

  async list(threadId: string, { before, limit }: Range): Promise<readonly LogEntry[]> {
    const reply = await this.#read(LIST, threadId, positionIn(before), String(limit));
    return entriesIn(reply ?? []);
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved"> {
    const {
      run,
      port: { isCluster },
    } = await this.#server();
    const keys = [this.#keys.thread(threadId), ...(isCluster ? [] : [this.#keys.ids])];
    const tail = ifTail === undefined ? [] : placeArguments(ifTail);
    const answer = asText(await run(REMOVE, keys, [threadId, ...tail])) as "removed" | "absent" | "moved";
    // The thread is gone; an id that is left in the index is removed by a later listing.
    if (isCluster && answer !== "moved") await this.#tidy(run, threadId).catch(() => undefined);
    return answer;
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists"> {
    const {
      run,
      port: { isCluster },
    } = await this.#server();
    const [from, to] = [this.#keys.thread(source), this.#keys.thread(target)];
    if (!isCluster) return asText(await run(COPY, [from, to, this.#keys.ids], [target, generation])) as "copied";
    const exported = asReply(await run(EXPORT, [from]));
    if (exported === undefined) return "no source";
    const [payload, leftMs] = exported;
    const [answer] = await this.#creating(target, async (_, createBefore) => [
      await run(IMPORT, [to], [payload ?? "", leftMs ?? "0", generation, String(createBefore)]),
    ]);
    return asText(answer) as "copied" | "target exists";
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ListedThread>> {
    const { run, port, link } = await this.#server();
    const scanners = async (): Promise<readonly Send[]> =>
      (await port.primaries()).map((send) => (command) => link.answer(port, send(command)));
    const { isCluster } = port;
    return walkThreads({ run, scanners, keys: this.#keys, isCluster, scanned: this.#scanned }, options);
  }

  override async now(): Promise<number> {
    const { run } = await this.#server();
    return Number(asText(await run(NOW, [this.#keys.ids])));
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override declined(error: unknown): boolean {
    return isDeclined(error);
  }

  override async scrub(): Promise<ScrubReport> {
    const { port } = await (await this.#link.get()).server();
    return rewriteFiles(await port.primaries());
  }

  close(): Promise<void> {
    this.#opened = undefined;
    return this.#link.release();
  }

  async #tidy(run: RunScript, threadId: string): Promise<void> {
    const seenAt = asText(await run(NOW, [this.#keys.ids]));
    if ((await this.#read(READ_NEWEST, threadId)) === undefined) await forgetAbsent(run, this.#keys, threadId, seenAt);
  }

  async #read(script: Script, threadId: string, ...args: readonly string[]): Promise<ReturnType<typeof asReply>> {
    const { run } = await this.#server();
    return asReply(await run(script, [this.#keys.thread(threadId)], args));
  }

  /** In a cluster, `creates` is in the index before `work` may create the thread; see layout.ts. */
  async #creating<T extends readonly unknown[]>(
    creates: string | undefined,
    work: (run: RunScript, createBefore: number | undefined) => Promise<T>,
  ): Promise<T> {
    const {
      run,
      port: { isCluster },
    } = await this.#server();
    if (creates === undefined || !isCluster) return work(run, undefined);
    for (let attempt = 1; attempt <= 3; attempt++) {
      const until = asText(await run(ANNOUNCE, [this.#keys.ids, this.#keys.announced], [creates]));
      const reply = await work(run, Number(until));
      if (asText(reply[0]) !== "late") return reply;
    }
    const seconds = CREATE_WITHIN_MS / 1000;
    const clocks = `the clocks of two nodes of the cluster differ by more than ${seconds} seconds; set them right`;
    throw new StateError("UNAVAILABLE", `${clocks}, nothing was written`);
  }

  async #server(): Promise<ReachedServer & { readonly link: Link }> {
    const link = await this.#link.get();
    const server = await link.server();
    this.#opened = link;
    this.#isOneServer = !server.port.isCluster;
    const { durability = this.#capabilities.durability } = link;
    if (durability !== this.#capabilities.durability) this.#capabilities = { ...this.#capabilities, durability };
    return { ...server, link };
  }
}
