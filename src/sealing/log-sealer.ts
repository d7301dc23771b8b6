import type { LogChain, LogEntry, LogRecord, ThreadLog } from "../checkpoint/log/thread-log.ts";
import { newMessagesOf } from "../checkpoint/record/chain.ts";
import { wordsOf } from "../checkpoint/record/plan-record.ts";
import { unopenedText } from "../driver/unopened.ts";
import { StateError } from "../errors.ts";
import { atOnce, awaited, type Steps } from "../internal/concurrency.ts";
import { keyToSealLogWith } from "./first-key.ts";
import type { NamedKey } from "./keys/box.ts";
import type { Keyring, KeysById, PersonKey } from "./keys/keyring.ts";
import type { PersonalPart } from "./parts/parted-text.ts";
import {
  contentOf,
  judgedWhole,
  namesNobody,
  type OpenedContent,
  partsOf,
  peopleAfter,
} from "./parts/personal-parts.ts";
import { type KnownPeople, NO_PEOPLE, type ThreadPeople } from "./parts/thread-people.ts";
import { putBack, type SealedPlace } from "./sealed-places.ts";
import {
  type KeyedPart,
  keysNeededBy,
  openedEntry,
  openedRecord,
  type PeekedEntry,
  type Personal,
  peek,
  sealedRecord,
  type TenantKey,
  withNewChecksum,
} from "./sealed-record.ts";

export interface SealerOptions {
  readonly keyring: Keyring;
  readonly tenantOf: (threadId: string) => string;
  /** Metadata and words lie in plain. */
  readonly isIndexPlain: boolean;
  /** Where the records lie, sealed. */
  readonly log: ThreadLog;
}

/** Records as they are stored, and who their thread is about behind the last of them. */
export interface Sealed {
  readonly records: readonly LogRecord[];
  readonly people: ThreadPeople;
}

/** Seals and opens the records of threads. Keys are fetched first; sealing itself is synchronous. */
export class LogSealer {
  readonly #options: SealerOptions;
  /** The keys of tenants that were compared with what the log says of them. */
  readonly #sealingKeys = new Map<string, NamedKey>();

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /**
   * The records as they are stored, and who the thread is about behind the last of
   * them: at once where every key is known.
   */
  seal(
    threadId: string,
    generation: string,
    records: readonly LogRecord[],
    before: ThreadPeople,
  ): Sealed | Promise<Sealed> {
    return (
      this.#sealUsual(threadId, generation, records, before) ??
      atOnce(this.#seal(threadId, generation, records, before))
    );
  }

  /**
   * The short way of most saves: one record about no person, with a key in the cache.
   */
  #sealUsual(
    threadId: string,
    generation: string,
    records: readonly LogRecord[],
    before: ThreadPeople,
  ): Sealed | undefined {
    const record = records[0];
    if (record === undefined || records.length > 1 || before !== NO_PEOPLE) return undefined;
    const { isIndexPlain } = this.#options;
    const place = this.#place(threadId);
    const key = this.#keyInHand(place.tenant);
    if (key === undefined || !namesNobody(record)) return undefined;
    return {
      records: [sealedRecord(record, { place, generation, key, isIndexPlain }, before, undefined)],
      people: before,
    };
  }

  *#seal(threadId: string, generation: string, records: readonly LogRecord[], before: ThreadPeople): Steps<Sealed> {
    const { isIndexPlain } = this.#options;
    const place = this.#place(threadId);
    const { tenant } = place;
    const key = this.#keyInHand(tenant) ?? (yield* awaited(this.#sealingKey(tenant)));
    const sealing = { place, generation, key, isIndexPlain };
    const naming = records.map((record) => (namesNobody(record) ? undefined : contentOf(record, before)));
    const named = yield* this.#personKeys(
      tenant,
      naming.flatMap((content) => [...(content?.subjects ?? [])]),
    );
    const held = before === NO_PEOPLE ? NO_KEYS : yield* this.#keys(peopleIn(before));
    // Synchronous from here on, with every key in hand: what is sealed is what was judged, whatever is erased
    // meanwhile.
    let people = before === NO_PEOPLE ? before : living(before, held);
    const keys = new Map<string, NamedKey>(named.map((each) => [each.id, each]));
    for (const each of held.values()) if (each !== undefined) keys.set(each.id, each);
    const sealed: LogRecord[] = [];
    for (const [index, record] of records.entries()) {
      const content = naming[index] ?? contentOf(record, people);
      if (content === undefined) {
        const { after, mayListWords, mayListMetadata } = judgedWhole(record, people);
        people = after;
        const listed = mayListWords ? record : { ...record, words: undefined };
        const own = { ...sealing, isIndexPlain: isIndexPlain && mayListMetadata };
        sealed.push(sealedRecord(listed, own, people, undefined));
        continue;
      }
      const { after, personal } = judged(record, content, people, named, keys);
      people = after;
      sealed.push(sealedRecord(record, sealing, people, personal));
    }
    return { records: sealed, people };
  }

  #keyInHand(tenant: string): NamedKey | undefined {
    const key = this.#sealingKeys.get(tenant);
    return key === this.#options.keyring.confirmedTenantKey(tenant) ? key : undefined;
  }

  async #sealingKey(tenant: string): Promise<NamedKey> {
    const { keyring, log } = this.#options;
    await keyring.confirmTenantKey(tenant);
    const key = await keyToSealLogWith(keyring, log, tenant);
    this.#sealingKeys.set(tenant, key);
    return key;
  }

  *#personKeys(tenant: string, subjects: readonly string[]): Steps<readonly PersonKey[]> {
    const people = [...new Set(subjects)];
    const { keyring } = this.#options;
    return keyring.knownPersonKeys(tenant, people) ?? (yield* awaited(keyring.personKeys(tenant, people)));
  }

  *#keys(ids: readonly string[]): Steps<KeysById> {
    const { keyring } = this.#options;
    return keyring.knownKeys(ids) ?? (yield* awaited(keyring.keysById(ids)));
  }

  /** An entry whose header opens, and who the thread is about as of it. */
  async open(
    threadId: string,
    entry: LogEntry,
    generation?: string,
  ): Promise<{ readonly entry: LogEntry; readonly people: ThreadPeople; readonly generation: string }> {
    const place = this.#place(threadId);
    const key = await this.#tenantKey(place);
    const peeked = peek(entry, place, key);
    const { people, content } = peeked;
    if (generation !== undefined && content.g !== generation) throw anotherGeneration(threadId, entry);
    const keys = await atOnce(this.#keys(keysNeededBy(peeked)));
    return { entry: openedEntry(peeked, place, keys), people, generation: content.g };
  }

  /** An entry of a thread whose tail was read before. */
  async openOf(threadId: string, entry: LogEntry, known: KnownPeople | undefined): Promise<LogEntry> {
    const opened = await this.open(threadId, entry);
    if (opened.generation === known?.generation) this.#assertNotPutBack(threadId, entry, known.people);
    return opened.entry;
  }

  #assertNotPutBack(threadId: string, entry: LogEntry, { floor = 1 }: ThreadPeople): void {
    if (entry.seq < floor) throw putBack(this.#place(threadId), entry);
  }

  /** The same in an answer about many entries: one that does not open must not affect the others, and reveals nothing. */
  async openOrNot(threadId: string, entry: LogEntry): Promise<LogEntry> {
    try {
      return (await this.open(threadId, entry)).entry;
    } catch (error) {
      const header = unopenedText(error);
      if (header === undefined) throw error;
      return { ...entry, header, metadata: undefined };
    }
  }

  async openChain(
    threadId: string,
    { generation, tail, records }: LogChain,
  ): Promise<{ readonly chain: LogChain; readonly people: ThreadPeople }> {
    const place = this.#place(threadId);
    const key = await this.#tenantKey(place);
    const peeked = records.map((record) => peek(record, place, key));
    // Most often the tail is the last of the records: what is proven of one is not proven again.
    const end = records.at(-1);
    const seen = end !== undefined && isSameEntry(end, tail) ? peeked.at(-1) : undefined;
    if (seen !== undefined && seen.content.g !== generation) throw anotherGeneration(threadId, tail);
    const opened =
      seen === undefined ? await this.open(threadId, tail, generation) : { entry: tail, people: seen.people };
    for (const record of records) this.#assertNotPutBack(threadId, record, opened.people);
    const keys = await atOnce(this.#keys(peeked.flatMap(keysNeededBy)));
    const own = records.map((record, index) => {
      const seen = peeked[index] as PeekedEntry;
      return openedRecord(record, seen, place, generation, key, keys);
    });
    const last = own.at(-1);
    // The tail's record, if it is among these, has the verified copy of the same entry.
    const isLast = last !== undefined && last.seq === tail.seq;
    return { chain: { generation, tail: isLast ? entryOf(last) : opened.entry, records: own }, people: opened.people };
  }

  #place(threadId: string): SealedPlace {
    return { tenant: this.#options.tenantOf(threadId), threadId };
  }

  async #tenantKey({ tenant }: SealedPlace): Promise<TenantKey> {
    const { keyring } = this.#options;
    const key = keyring.knownTenantKey(tenant) ?? (await keyring.tenantKey(tenant, { isNew: false }));
    return { key, missing: (id) => keyring.missing(id) };
  }
}

/** What of a record is sealed with people's keys, and who its thread is about behind it. */
function judged(
  record: LogRecord,
  content: OpenedContent,
  before: ThreadPeople,
  named: readonly PersonKey[],
  keys: ReadonlyMap<string, NamedKey>,
): { readonly after: ThreadPeople; readonly personal: Personal | undefined } {
  const own = named.filter(({ subject }) => content.subjects.has(subject));
  const keyOf = new Map(own.map(({ subject, id }) => [subject, id]));
  const after = peopleAfter(content, before, keyOf);
  const parts = partsOf(content, before, after, keyOf);
  if (parts === undefined) return { after, personal: undefined };
  const words = record.words === undefined ? undefined : wordsAboutNobody(record, parts.body.erased);
  const inHand = (id: string): NamedKey => {
    const key = keys.get(id);
    if (key !== undefined) return key;
    throw new TypeError(`the key ${id} is not in hand`);
  };
  const keyed = (each: readonly PersonalPart[]): readonly KeyedPart[] =>
    each.map((part) => ({ ...part, keys: part.keys.map(inHand) }));
  const { body, metadata } = parts;
  return {
    after,
    personal: {
      body: {
        erased: body.erased,
        parts: keyed(body.parts),
        ...(body.wholeOf !== undefined && { wholeOf: body.wholeOf.map(inHand) }),
      },
      metadata: metadata && { erased: metadata.erased, parts: keyed(metadata.parts) },
      words,
    },
  };
}

const NO_KEYS: KeysById = new Map();

/** Without people whose keys are gone: nothing new is sealed for them. */
function living(people: ThreadPeople, keys: KeysById): ThreadPeople {
  const alive = (ids: readonly string[]): readonly string[] => ids.filter((id) => keys.get(id) !== undefined);
  const calls = Object.entries(people.calls).map(([call, ids]) => [call, ids, alive(ids)] as const);
  return {
    ...people,
    defaults: alive(people.defaults),
    named: alive(people.named),
    calls: Object.fromEntries(
      calls.flatMap(([call, ids, left]) => (left.length > 0 || ids.length === 0 ? [[call, left] as const] : [])),
    ),
  };
}

const wordsAboutNobody = (record: LogRecord, erased: Uint8Array): string | undefined =>
  wordsOf(newMessagesOf(withNewChecksum({ ...record, body: erased })));

const isSameEntry = (record: LogRecord, entry: LogEntry): boolean =>
  record.seq === entry.seq &&
  record.header === entry.header &&
  record.writeId === entry.writeId &&
  record.base === entry.base &&
  record.head === entry.head &&
  record.checkpointId === entry.checkpointId &&
  record.metadata === entry.metadata &&
  (record.names ?? []).join("\n") === (entry.names ?? []).join("\n");

const entryOf = ({ body: _, words: _words, ...entry }: LogRecord): LogEntry => entry;

const peopleIn = ({ defaults, named, calls }: ThreadPeople): string[] => [
  ...defaults,
  ...named,
  ...Object.values(calls).flat(),
];

const anotherGeneration = (threadId: string, { seq }: LogEntry): StateError =>
  new StateError(
    "CORRUPT",
    `record ${seq} of thread ${JSON.stringify(threadId)} was sealed for another thread of that name, which was deleted: it was moved here`,
    { threadId, location: `record ${seq}` },
  );
