import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { sleep } from "../../internal/time.ts";
import { readableId } from "../driver/namespaces.ts";
import type {
  Change,
  ChangeResult,
  ItemId,
  PutChange,
  RefusedWrite,
  RemoveChange,
  WriteOutcome,
} from "../driver/store-driver.ts";
import { emptyObject, type KeptItem, type PendingWrite, pack, type RememberedWrite, settled } from "./item-object.ts";
import { type FoundItem, type ItemTable, neverStill, recent } from "./item-table.ts";

const OVERTAKEN: unique symbol = Symbol("holdfast.key-value.overtaken");

const MOST_ATTEMPTS = 200;
const LONGEST_PAUSE_MS = 200;
/** How long others wait for the first attempt, and for a later one at most: each may take twice as long as the one before. */
const FIRST_PATIENCE_MS = 2_000;
const LAST_PATIENCE_MS = 60_000;
/** Requests of one write that are under way at the same time. */
const AT_ONCE = 32;

/** Every write carries those of the last ten minutes: with more, an item that is written all the time would grow without end. */
const MOST_WRITES = 2_000;

/** A change that leaves something, and what was there before. */
interface Planned {
  readonly index: number;
  readonly change: Change;
  readonly found: FoundItem;
  /** Writes of the item that can still be repeated. */
  readonly writes: readonly RememberedWrite[];
  /** The same write, made before. */
  readonly known: RememberedWrite | undefined;
}

/** A change that leaves nothing: it says that an item must not be there. */
interface Condition {
  readonly index: number;
  readonly change: RemoveChange;
}

export class ItemWriter {
  readonly #table: ItemTable;
  readonly #now: () => Promise<number>;

  constructor(table: ItemTable, now: () => Promise<number>) {
    this.#table = table;
    this.#now = now;
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const outcome = await this.#attempt(changes, attempt);
      if (outcome !== OVERTAKEN) return outcome;
      // A random pause separates two writers that keep disturbing each other.
      if (attempt > 1) await sleep(Math.random() * Math.min(LONGEST_PAUSE_MS, 10 * attempt));
    }
    throw neverStill(changes.length === 1 && changes[0] !== undefined ? readableId(changes[0]) : "of some item");
  }

  async #attempt(changes: readonly Change[], attempt: number): Promise<WriteOutcome | typeof OVERTAKEN> {
    const now = await this.#now();
    const { writing, conditions } = divided(changes);
    const planned = await inParallel(writing, (one) => this.#plan(one, now), AT_ONCE);
    const refused = planned.map((one) => refusalOf(one, now)).find((refusal) => refusal !== undefined);
    const together = new Map(planned.flatMap(({ known }) => known?.together ?? []));
    const openConditions = conditions.filter(({ change }) => together.get(change.writeKey) !== change.digest);
    const taken = openConditions.find(({ change }) => together.has(change.writeKey));
    if (taken !== undefined) return { applied: false, index: taken.index, because: "write key", version: null };
    const fresh = planned.filter(({ known }) => known === undefined);
    if (refused !== undefined || fresh.length === 0) {
      const unmet = await this.#firstUnmet(openConditions);
      const [first] = [refused, unmet].filter((one) => one !== undefined).sort((a, b) => a.index - b.index);
      if (first !== undefined) return first;
    } else {
      const written = await this.#make(fresh, openConditions, now, attempt);
      if (written !== undefined) return written;
    }
    const results = new Map(planned.map((one) => [one.index, resultOf(one, now)]));
    const isOpen = new Set(openConditions.map(({ index }) => index));
    return {
      applied: true,
      results: changes.map((_, index) => results.get(index) ?? { ...nothingAt(now), repeated: !isOpen.has(index) }),
    };
  }

  async #plan({ index, change }: { index: number; change: Change }, now: number): Promise<Planned> {
    const found = await this.#table.readToWrite(this.#table.layout.item(change));
    const { trouble } = found;
    // Only a write that takes whatever is there may replace what cannot be read, and none what a newer build wrote.
    if (trouble !== undefined && (change.expected !== undefined || trouble.code !== "CORRUPT")) throw trouble;
    const isGone = found.version === undefined;
    const writes = isGone ? await this.#table.writesOfRemoved(change, now) : recent(found.object.writes, now);
    const known = writes.find(({ key }) => key === change.writeKey);
    return { index, change, found, writes, known };
  }

  /** `undefined` if all of it was written. */
  async #make(
    fresh: readonly Planned[],
    conditions: readonly Condition[],
    now: number,
    attempt: number,
  ): Promise<RefusedWrite | typeof OVERTAKEN | undefined> {
    for (const { change, writes } of fresh) if (writes.length >= MOST_WRITES) throw tooManyWrites(change);
    if (fresh.some(({ change }) => change.kind === "put" && change.vector !== undefined)) await this.#noteVectors();
    const [only] = fresh;
    if (only !== undefined && fresh.length === 1 && conditions.length === 0) {
      const { item, write } = afterChange(only, now, []);
      const object = { ...emptyObject(idOf(only.change)), item, writes: [...only.writes, write] };
      return (await this.#table.put(only.found, object)) === undefined ? OVERTAKEN : undefined;
    }
    const patienceMs = Math.min(LAST_PATIENCE_MS, FIRST_PATIENCE_MS * 2 ** (attempt - 1));
    const name = this.#table.beginAttempt();
    try {
      return await this.#makeTogether(fresh, conditions, now, { name, patienceMs });
    } finally {
      this.#table.endAttempt(name);
    }
  }

  async #makeTogether(
    fresh: readonly Planned[],
    conditions: readonly Condition[],
    now: number,
    { name, patienceMs }: { readonly name: string; readonly patienceMs: number },
  ): Promise<RefusedWrite | typeof OVERTAKEN | undefined> {
    const table = this.#table;
    const isBatch = fresh.length > 1;
    const names = fresh.map(({ found }) => found.name);
    const placed: FoundItem[] = [];
    let batchVersion: string | undefined;
    try {
      batchVersion = isBatch ? await table.putBatch(name, "open", names) : undefined;
      await inParallel(
        fresh,
        async (one) => {
          const { item, write } = afterChange(one, now, conditions, isBatch ? name : undefined);
          const isConditional = conditions.length > 0;
          const pending: PendingWrite = { attempt: name, isBatch, isConditional, patienceMs, item, write };
          const object = { ...one.found.object, id: idOf(one.change), writes: one.writes, pending };
          const found = await table.put(one.found, object);
          if (found !== undefined) placed.push(found);
        },
        AT_ONCE,
      );
      const unmet = placed.length === fresh.length ? await this.#firstUnmet(conditions, name) : OVERTAKEN;
      if (unmet !== undefined) {
        await this.#giveUp(isBatch ? name : undefined, placed);
        return unmet;
      }
    } catch (error) {
      // What stays behind is taken for undone by later readers.
      await this.#giveUp(isBatch ? name : undefined, placed).catch(() => undefined);
      throw error;
    }
    const [only] = placed;
    if (!isBatch) return only !== undefined && (await this.#settle(only)) ? undefined : OVERTAKEN;
    if (!(await this.#isCommitted(name, names, batchVersion))) {
      await this.#giveUp(name, placed);
      return OVERTAKEN;
    }
    // It is made. What is not finished here is finished by later readers.
    await this.#finish(name, placed).catch(() => undefined);
    return undefined;
  }

  async #isCommitted(name: string, names: readonly string[], version: string | undefined): Promise<boolean> {
    if (version === undefined) return false;
    if ((await this.#table.putBatch(name, "committed", names, version)) !== undefined) return true;
    // A gateway may have sent it twice, and then the second one is refused because of the first.
    return (await this.#table.findBatch(name))?.state === "committed";
  }

  async #finish(name: string, placed: readonly FoundItem[]): Promise<void> {
    await inParallel(placed, (found) => this.#settle(found), AT_ONCE);
    await this.#table.deleteBatch(name);
  }

  /** False if another process was there before: it took the pending write away, or finished it. */
  async #settle(found: FoundItem): Promise<boolean> {
    return (await this.#table.put(found, settled(found.object))) !== undefined;
  }

  /** Without its batch object, no pending write can count. */
  async #giveUp(batch: string | undefined, placed: readonly FoundItem[]): Promise<void> {
    if (batch !== undefined) await this.#table.deleteBatch(batch);
    await inParallel(placed, (found) => this.#table.withdraw(found), AT_ONCE);
  }

  async #firstUnmet(conditions: readonly Condition[], holding?: string): Promise<RefusedWrite | undefined> {
    const met = await inParallel(conditions, async ({ index, change }) => {
      const found = await this.#table.readToWrite(this.#table.layout.item(change), holding);
      if (found.trouble !== undefined) throw found.trouble;
      const version = liveItem(found, await this.#now())?.stored.version ?? null;
      return version === null ? undefined : ({ applied: false, index, because: "version", version } as const);
    });
    return met.find((refusal) => refusal !== undefined);
  }

  /** Looked at each time: a storage that went back in time may have lost it. */
  async #noteVectors(): Promise<void> {
    const { bucket, layout } = this.#table;
    if ((await bucket.get(layout.vectors)) !== undefined) return;
    await this.#table.putBytes(layout.vectors, pack({ vectors: true }), undefined);
  }
}

/** What is there for readers, as of now. */
export function liveItem({ object }: FoundItem, now: number): KeptItem | undefined {
  const { item } = object;
  return item !== undefined && (item.stored.expiresAt ?? now + 1) > now ? item : undefined;
}

/** Those that leave something, and those that only say what must not be there; one alone is of the first kind, to be remembered. */
function divided(changes: readonly Change[]): {
  readonly writing: readonly { readonly index: number; readonly change: Change }[];
  readonly conditions: readonly Condition[];
} {
  const all = changes.map((change, index) => ({ index, change }));
  const writing = all.filter(({ change }) => !isCondition(change));
  if (writing.length === 0) return { writing: all, conditions: [] };
  const conditions = all.flatMap(({ index, change }) => (isCondition(change) ? [{ index, change }] : []));
  return { writing, conditions };
}

const isCondition = (change: Change): change is RemoveChange => change.kind === "remove" && change.expected === null;

function refusalOf({ index, change, found, known }: Planned, now: number): RefusedWrite | undefined {
  if (known !== undefined) {
    if (known.digest === change.digest) return undefined;
    return { applied: false, index, because: "write key", version: null };
  }
  if (change.expected === undefined) return undefined;
  const version = liveItem(found, now)?.stored.version ?? null;
  return version === change.expected ? undefined : { applied: false, index, because: "version", version };
}

function afterChange(
  { change, found }: Planned,
  now: number,
  conditions: readonly Condition[],
  batch?: string,
): { readonly item: KeptItem | undefined; readonly write: RememberedWrite } {
  const before = liveItem(found, now)?.stored;
  const updatedAt = Math.max(now, before?.updatedAt ?? now);
  const times = { createdAt: before?.createdAt ?? now, updatedAt };
  const { writeKey: key, digest } = change;
  const together = conditions.map(({ change: { writeKey, digest } }) => [writeKey, digest] as const);
  const remembered = (result: RememberedWrite["result"]): RememberedWrite => ({
    key,
    digest,
    at: now,
    result,
    together,
  });
  if (change.kind === "remove") {
    const { version = null, expiresAt } = before ?? {};
    return { item: undefined, write: remembered({ version, ...times, expiresAt }) };
  }
  const stored = { ...itemOf(change), ...times, expiresAt: endOf(change, before?.expiresAt, now) };
  const { fields, words, vector } = change;
  const { version, expiresAt } = stored;
  return { item: { stored, fields, words, vector, batch }, write: remembered({ version, ...times, expiresAt }) };
}

const idOf = ({ namespace, key }: Change): ItemId => ({ namespace, key });

const itemOf = ({ namespace, key, version, value, metadata }: PutChange) => ({
  namespace,
  key,
  version,
  value,
  metadata,
});

function endOf({ ttlMs }: PutChange, before: number | undefined, now: number): number | undefined {
  if (ttlMs === "keep") return before;
  return ttlMs === undefined ? undefined : now + ttlMs;
}

const resultOf = (one: Planned, now: number): ChangeResult =>
  one.known === undefined
    ? { ...afterChange(one, now, []).write.result, repeated: false }
    : { ...one.known.result, repeated: true };

const nothingAt = (now: number): Omit<ChangeResult, "repeated"> => ({
  version: null,
  createdAt: now,
  updatedAt: now,
  expiresAt: undefined,
});

const tooManyWrites = (change: Change): StateError =>
  new StateError(
    "RATE_LIMITED",
    `${readableId(change)} was written ${MOST_WRITES} times within ten minutes, which is as often as an object keeps in mind. Spread what is written over several items, or keep it in a database`,
  );
