import { isSamePlace, placeOfTail, recordsIn } from "../checkpoint/log/driver-rules.ts";
import { isReadable } from "../checkpoint/log/listed-threads.ts";
import { LogLayer } from "../checkpoint/log/log-layer.ts";
import type {
  AppendOutcome,
  AppendRequest,
  FoundRecords,
  KnownPlace,
  ListedThread,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  SearchHit,
  SearchRange,
  ThreadLog,
  ThreadTail,
} from "../checkpoint/log/thread-log.ts";
import { unsupported } from "../driver/driver.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { StateError } from "../errors.ts";
import { Recent } from "../internal/recent.ts";
import type { Keyring } from "./keys/keyring.ts";
import type { LogSealer } from "./log-sealer.ts";
import { type KnownPeople, NO_PEOPLE, raised, type ThreadPeople } from "./parts/thread-people.ts";
import { isStaging, STAGING_PREFIX } from "./staging.ts";

export interface SealedLogOptions {
  readonly keyring: () => Promise<Keyring>;
  readonly tenantOf: (threadId: string) => string;
  readonly isIndexPlain: boolean;
}

/** How much longer a sealed body is than its content, if it holds nothing personal. */
const OVERHEAD_BYTES = 256;
/** Placeholders and the parts that belong in their places are longer than the parts alone; parts that are tiny most of all. */
const GROWTH = 2;
const MOST_KNOWN = 10_000;
/** The most hits to ask for, however many are left out. */
const MOST_HITS = 10_000;

/**
 * A log whose records are sealed before they reach the log below, and opened on
 * their way back: the body, the header, the metadata and the words.
 *
 * Each is bound to its thread, its position and its names, so nothing may be
 * moved by the storage: a copy is read, sealed again and written. Without a plain
 * index there is no search and no query by metadata: threads are scanned. Closing
 * it closes the log below, and leaves the keyring open.
 */
export class SealedLog extends LogLayer {
  readonly keyring: () => Promise<Keyring>;
  readonly #options: SealedLogOptions;
  readonly #sealer: OpenOnce<LogSealer>;
  #opened: LogSealer | undefined;
  readonly #people = new Recent<KnownPeople>(MOST_KNOWN);

  constructor(below: ThreadLog, options: SealedLogOptions) {
    super(below);
    this.keyring = options.keyring;
    this.#options = options;
    this.#sealer = new OpenOnce(async () => {
      const [keyring, { LogSealer }] = await Promise.all([options.keyring(), import("./log-sealer.ts")]);
      return new LogSealer({ ...options, keyring, log: below });
    });
  }

  /** As below, less what a body grows by. Words come with every append, because they are sealed with it. */
  protected override capabilitiesOver(below: LogCapabilities): LogCapabilities {
    const { isIndexPlain } = this.#options;
    return {
      ...below,
      connects: true,
      maxRecordBytes: Math.max(1024, Math.floor(below.maxRecordBytes / GROWTH) - OVERHEAD_BYTES),
      search: isIndexPlain && below.search !== undefined ? "with words" : undefined,
      metadataQuery: isIndexPlain && below.metadataQuery === true,
      sealing: isIndexPlain ? "except index" : "all",
    };
  }

  /** A key that is not there shows at the start, and not at the first save. */
  override async connect(): Promise<void> {
    await this.#sealer.get();
    await super.connect();
  }

  /** The log below refuses what `assertAppend` refuses. */
  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    assertOwn(threadId);
    const { expected, replace } = request;
    const { generation } = expected;
    // No await when it is open already: one costs a save nearly as much as sealing a box.
    const sealer = this.#opened ?? (await this.#open());
    const before = this.#knownAt(threadId, expected) ?? (await this.#peopleAt(threadId, expected));
    const after = raised(before, request.dropBelow);
    const sealing = sealer.seal(threadId, generation, recordsIn(request), after);
    const added = sealing instanceof Promise ? await sealing : sealing;
    let sealed: AppendRequest = { ...request, record: added.records[0] ?? request.record };
    if (added.records.length > 1) sealed = { ...sealed, more: added.records.slice(1) };
    if (replace !== undefined) {
      const replacing = await sealer.seal(threadId, generation, replace, added.people);
      sealed = { ...sealed, replace: replacing.records };
    }
    this.#assertFits(sealed);
    const outcome = await this.below.append(threadId, this.#withoutLaterWords(sealed));
    if (outcome.appended) {
      const entry = added.records.at(-1) ?? request.record;
      this.#know(threadId, { ...placeOfTail({ generation, entry }), people: added.people });
      return outcome;
    }
    this.#people.delete(threadId);
    const open = async (entry: LogEntry | undefined) => entry && (await sealer.open(threadId, entry)).entry;
    return { ...outcome, tail: await open(outcome.tail), occupant: await open(outcome.occupant) };
  }

  override async readTail(
    threadId: string,
    options?: { readonly newerThan?: KnownPlace },
  ): Promise<LogChain | undefined> {
    return this.#openedChain(threadId, await this.below.readTail(threadId, options));
  }

  override async readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined> {
    return this.#openedChain(threadId, await this.below.readCheckpoint(threadId, name));
  }

  override async readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined> {
    return this.#openedChain(threadId, await this.below.readRecords(threadId, options));
  }

  override async entry(threadId: string, name: string): Promise<LogEntry | undefined> {
    const known = await this.#knownOf(threadId);
    const found = await this.below.entry(threadId, name);
    return found && (await this.#sealer.get()).openOf(threadId, found, known);
  }

  override async tail(threadId: string): Promise<ThreadTail | undefined> {
    const found = await this.below.tail(threadId);
    if (found === undefined) return undefined;
    const { generation } = found;
    const { entry, people } = await (await this.#sealer.get()).open(threadId, found.entry, generation);
    this.#know(threadId, { ...placeOfTail({ generation, entry }), people });
    return { ...found, entry };
  }

  override async list(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<readonly LogEntry[]> {
    const sealer = await this.#sealer.get();
    const known = await this.#knownOf(threadId);
    const entries: LogEntry[] = [];
    for (const entry of await this.below.list(threadId, options)) {
      entries.push(await sealer.openOf(threadId, entry, known));
    }
    return entries;
  }

  override remove(...given: Parameters<ThreadLog["remove"]>): Promise<"removed" | "absent" | "moved"> {
    this.#people.delete(given[0]);
    return this.below.remove(...given);
  }

  override async copy(
    source: string,
    target: string,
    generation: string,
  ): Promise<"copied" | "no source" | "target exists"> {
    assertOwn(target);
    const { copySealed } = await import("./sealed-copy.ts");
    return copySealed(this.below, await this.#sealer.get(), source, target, generation);
  }

  override async listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>> {
    return this.#page(await this.below.listThreads(options));
  }

  override async search(words: readonly string[], options: SearchRange): Promise<FoundRecords> {
    if (this.capabilities.search === undefined) throw unsupported("search");
    // Words lie in plain beside the bodies then, so that no key is needed to index them.
    const { wordsBeside } = await import("./words-beside.ts");
    await this.below.catchUp(wordsBeside);
    return this.#found(options.limit, (limit) => this.below.search(words, { ...options, limit }));
  }

  /** `search` does it, with the words that lie in plain. */
  override async catchUp(): Promise<void> {}

  override async queryMetadata(...given: Parameters<ThreadLog["queryMetadata"]>): Promise<LogPage<ListedThread>> {
    if (this.capabilities.metadataQuery !== true) throw unsupported("metadataQuery");
    return this.#page(await this.below.queryMetadata(...given));
  }

  async #page({ items, cursor }: LogPage<ListedThread>): Promise<LogPage<ListedThread>> {
    const sealer = await this.#sealer.get();
    const own: ListedThread[] = [];
    for (const thread of items) {
      if (thread.threadId !== undefined && isStaging(thread.threadId)) continue;
      if (!isReadable(thread)) own.push(thread);
      else own.push({ ...thread, head: await sealer.openOrNot(thread.threadId, thread.head) });
    }
    return { items: own, cursor };
  }

  /** Asks for more if copies that are not finished took the places of others. */
  async #found(limit: number, find: (limit: number) => Promise<FoundRecords>): Promise<FoundRecords> {
    const sealer = await this.#sealer.get();
    for (let asked = limit; ; asked *= 2) {
      const { hits, order } = await find(asked);
      const own = hits.filter(({ threadId }) => !isStaging(threadId)).slice(0, limit);
      if (own.length < limit && hits.length >= asked && asked < MOST_HITS) continue;
      const opened: SearchHit[] = [];
      for (const hit of own) opened.push({ ...hit, entry: await sealer.openOrNot(hit.threadId, hit.entry) });
      return { hits: opened, order };
    }
  }

  async #openedChain(threadId: string, found: LogChain | undefined): Promise<LogChain | undefined> {
    if (found === undefined) return undefined;
    const { chain, people } = await (await this.#sealer.get()).openChain(threadId, found);
    this.#know(threadId, { ...placeOfTail({ generation: chain.generation, entry: chain.tail }), people });
    return chain;
  }

  async #open(): Promise<LogSealer> {
    this.#opened = await this.#sealer.get();
    return this.#opened;
  }

  /** The writer has usually read the tail through this log; if not, it is read now. */
  async #peopleAt(threadId: string, place: KnownPlace): Promise<ThreadPeople> {
    await this.tail(threadId);
    // Not the tail: the append will be refused.
    return this.#knownAt(threadId, place) ?? NO_PEOPLE;
  }

  /** As of a tail that was read before what is asked for next, so that nothing is taken for put back that is removed in between. */
  async #knownOf(threadId: string): Promise<KnownPeople | undefined> {
    if (this.#people.get(threadId) === undefined) await this.tail(threadId);
    return this.#people.get(threadId);
  }

  #knownAt(threadId: string, place: KnownPlace): ThreadPeople | undefined {
    if (place.seq === 0) return NO_PEOPLE;
    const known = this.#people.get(threadId);
    return known !== undefined && isSamePlace(known, place) ? known.people : undefined;
  }

  #know(threadId: string, known: KnownPeople): void {
    this.#people.set(threadId, known);
  }

  /** A driver that indexes later is given no words with an append; it finds them beside the body. */
  #withoutLaterWords(request: AppendRequest): AppendRequest {
    if (!this.#options.isIndexPlain || this.below.capabilities.search !== "deferred") return request;
    const [record = request.record, ...more] = recordsIn(request).map((each) => ({ ...each, words: undefined }));
    return { ...request, record, ...(more.length > 0 && { more }) };
  }

  #assertFits(request: AppendRequest): void {
    const { maxRecordBytes } = this.below.capabilities;
    let bytes = request.record.body.byteLength;
    for (const { body } of request.more ?? []) bytes += body.byteLength;
    if (bytes <= maxRecordBytes) return;
    throw new StateError(
      "TOO_LARGE",
      `${this.name} takes ${maxRecordBytes} bytes at once, and sealed these are ${bytes}: much of it is about people, in many small parts. Save in smaller steps; nothing was written`,
      { written: "no" },
    );
  }
}

function assertOwn(threadId: string): void {
  if (!isStaging(threadId)) return;
  throw new StateError("INVALID_ARGUMENT", `ids of threads that begin with ${STAGING_PREFIX} are kept for copies`);
}
