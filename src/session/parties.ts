import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { type CheckpointContext, contextOf } from "../checkpoint/context.ts";
import { eraseInThread, findInThreads, holdOffWriters } from "../checkpoint/people/erasing.ts";
import {
  ERASURE_MARK,
  type HoldingOff,
  NEW_THREADS_HELD_OFF,
  newThreadsHeldOff,
  withHoldingOff,
} from "../checkpoint/people/erasure-mark.ts";
import type { Forgets } from "../checkpoint/people/people-in-thread.ts";
import { subjectIndexOf } from "../checkpoint/people/subject-index.ts";
import { loadState } from "../checkpoint/thread/loaded-state.ts";
import { NOT_SCRUBBED } from "../driver/driver.ts";
import { newId } from "../driver/ids.ts";
import type { Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import { AgentState } from "../state/agent-state.ts";
import { type AppliedMark, appliedMarkIn, laterMark } from "../state/people/applied-mark.ts";
import { Sweep } from "../state/people/erasing.ts";
import { emptied } from "../state/people/field-rule.ts";
import { type ActiveHolds, HOLDS, holdFrom, type LegalHold } from "../state/people/legal-hold.ts";
import { STORED_RULES } from "../state/people/personal-fields.ts";
import type { BaseStore } from "../store/base-store.ts";
import { ownersOf } from "../store/driver/namespaces.ts";
import { activeHoldsIn, holdOnItem, type SeenHolds, seenHoldsIn } from "../store/holds.ts";
import type { StoreItem } from "../store/items/items.ts";
import { accessOf, type StoreAccess } from "../store/items/store-access.ts";
import { replaceUnlessHeld } from "../store/removing-items.ts";
import { GATE, type GateEntries } from "../store/writing/writers-gate.ts";
import { type ErasureParty, HeldTally, type PersonalPlace } from "./erasure-party.ts";
import { USER_ROOT } from "./user-store.ts";

const OPAQUE =
  "a serialiser of yours wrote values in them, and only it can tell whom those are about; delete the threads that are about the person";
/** The namespace of a store's mark is called as the thread of a checkpointer's. */
const MARK_NAMESPACE = ERASURE_MARK.threadId;
/** Each lost race is another process's mark. */
const MOST_RACES = 100;

export function threadParty(checkpointer: BaseCheckpointer, name: string): ErasureParty {
  const context = contextOf(checkpointer);
  if (context === undefined) {
    const what = `${name} (${checkpointer.constructor.name}) is not over a ThreadLog`;
    throw new StateError(
      "UNSUPPORTED",
      `${what}: records of it cannot be rewritten, so people cannot be erased from it`,
    );
  }
  let [opaque, postponed] = [0, 0];
  let holding: (HoldingOff & { readonly until: number }) | undefined;
  /** The threads that writers are held off from, and until when. */
  const heldOff = new Map<string, number>();
  const held = new HeldTally(name);
  return {
    name,
    holdsProcess: true,
    held: () => held.list,
    unread: () => (opaque === 0 ? [] : [{ where: `${name}: ${opaque} threads of graphs`, why: OPAQUE }]),
    postponed: () => postponed,
    async *find(forgets, warnings, _readHolds, mayPostpone = false) {
      opaque = 0;
      postponed = 0;
      held.clear();
      const looking = {
        forgets,
        warnings,
        index: subjectIndexOf(context),
        onOpaque: () => opaque++,
        ...(mayPostpone && { writtenBefore: context.now() }),
        onPostponed: () => postponed++,
        onHeld: (hold: LegalHold, count: number) => held.add(hold, count),
      };
      for await (const found of findInThreads(context, looking)) {
        yield found.map(({ kind, threadId, checkpointId, path, value }) => ({
          kind,
          where: threadId,
          ...(checkpointId !== undefined && { checkpointId }),
          path,
          value,
        }));
      }
    },
    async erase(places, forgets) {
      let records = 0;
      for (const threadId of new Set(places.map(({ where }) => where))) {
        const place = { operation: "erase", threadId };
        if (holding !== undefined) heldOff.set(threadId, holding.until);
        const work = (): Promise<number> => eraseInThread(context, threadId, forgets, holding);
        // A writer was faster too often. The next look finds what is left, and then writers wait.
        records += await context.guard(place, work).catch((error: unknown) => {
          if (StateError.is(error, "CONFLICT")) return 0;
          throw error;
        });
      }
      return records;
    },
    scrub: () => context.call({ operation: "erase" }, (log) => log.scrub()),
    async holdOff(forMs) {
      const now = await context.storageNow();
      holding = { by: holding?.by ?? newId(), until: now + forMs };
      await writeMark(checkpointer, context, (mark) => ({ mark, holding }));
      // Those that would be free before the look ends.
      for (const [threadId, until] of heldOff) {
        if (until > now + forMs / 2) continue;
        await holdOffWriters(context, threadId, holding);
        heldOff.set(threadId, holding.until);
      }
    },
    async isHoldingOff() {
      const ends = [...heldOff.values(), holding?.until ?? 0];
      return Math.min(...ends) > (await context.storageNow());
    },
    async release() {
      if (holding === undefined) return;
      const ended = { by: holding.by, until: undefined };
      holding = undefined;
      await writeMark(checkpointer, context, (mark) => ({ mark, holding: ended }));
      for (const threadId of heldOff.keys()) await holdOffWriters(context, threadId, ended);
      heldOff.clear();
    },
    mark: () => readMark(checkpointer),
    setMark: (given) =>
      writeMark(checkpointer, context, (known) => {
        const mark = laterMark(known, given);
        return mark && { mark };
      }),
  };
}

async function readMark(checkpointer: BaseCheckpointer): Promise<AppliedMark | undefined> {
  const state = await loadState(checkpointer, ERASURE_MARK.threadId);
  return state && appliedMarkIn(state.metadata);
}

/** What `change` makes of the mark, on which others may be at work. Nothing is written where it gives nothing. */
async function writeMark(
  checkpointer: BaseCheckpointer,
  context: CheckpointContext,
  change: (
    known: AppliedMark | undefined,
  ) => { readonly mark: AppliedMark | undefined; readonly holding?: HoldingOff | undefined } | undefined,
): Promise<void> {
  const { threadId, checkpointId } = ERASURE_MARK;
  for (let races = 1; ; races++) {
    const state = await loadState(checkpointer, threadId);
    const changed = change(state && appliedMarkIn(state.metadata));
    if (changed === undefined) return;
    const { mark, holding } = changed;
    const next = (state ?? AgentState.create()).withMetadata({ ...mark });
    // Read after the state: where it is newer than that, the save is refused.
    const others = await newThreadsHeldOff(context, { operation: "erase", threadId });
    const heldOff = holding === undefined ? others : withHoldingOff(others, holding);
    const metadata = heldOff && { [NEW_THREADS_HELD_OFF]: heldOff };
    try {
      await checkpointer.save(next, threadId, { checkpointId, ...(metadata !== undefined && { metadata }) });
      return;
    } catch (error) {
      if (!StateError.is(error, "CONFLICT") || races === MOST_RACES) throw error;
    }
  }
}

/** Adds or removes an erasure in the item that lists those which hold off the store's writers. */
async function writeGate(store: BaseStore, { by, until }: HoldingOff): Promise<void> {
  const { namespace, key } = GATE;
  for (let races = 1; ; races++) {
    const known = await store.getItem<GateEntries>(namespace, key);
    const next = withHoldingOff(known?.value, { by, until });
    const expected = { expectedVersion: known?.version ?? null };
    try {
      if (next !== undefined) await store.put(namespace, key, next, { ...expected, index: false });
      else if (known !== undefined) await store.delete(namespace, key, expected);
      return;
    } catch (error) {
      if (!StateError.is(error, "CONFLICT") || races === MOST_RACES) throw error;
    }
  }
}

/** Holds off writers that put items about people. */
function itemWriters(
  store: BaseStore,
  access: StoreAccess,
): Required<Pick<ErasureParty, "holdOff" | "isHoldingOff" | "release">> {
  const now = (): Promise<number> => access.call({ operation: "erase" }, (driver) => driver.now());
  let holding: (HoldingOff & { readonly until: number }) | undefined;
  return {
    async holdOff(forMs) {
      holding = { by: holding?.by ?? newId(), until: (await now()) + forMs };
      await writeGate(store, holding);
    },
    isHoldingOff: async () => holding !== undefined && holding.until > (await now()),
    async release() {
      if (holding === undefined) return;
      const { by } = holding;
      holding = undefined;
      await writeGate(store, { by, until: undefined });
    },
  };
}

export function storeParty(store: BaseStore, name: string): ErasureParty {
  const access = accessOf(store);
  // What no driver of ours writes asks for no gate.
  const holder = access === undefined ? {} : itemWriters(store, access);
  const held = new HeldTally(name);
  return {
    name,
    holdsProcess: false,
    unread: () => [],
    held: () => held.list,
    async *find(forgets, warnings) {
      held.clear();
      let isThrough = true;
      for await (const items of pages(store, warnings)) {
        const found = items.flatMap((item) => {
          const places = placesIn(item, forgets);
          return places.length === 0 ? [] : [{ item, places }];
        });
        const holds = found.length === 0 ? undefined : await activeHoldsIn(store);
        const free = found.flatMap(({ item, places }) => {
          const hold = holds && keeperOf(holds, item);
          if (hold !== undefined) held.add(hold, places.length);
          return hold === undefined ? places : [];
        });
        isThrough &&= free.length === 0;
        yield free;
      }
      // The list is an index, which may lack what is stored.
      if (isThrough) await access?.call({ operation: "erase" }, async (driver) => driver.verify?.());
    },
    async erase(places, forgets) {
      let items = 0;
      for (const where of new Set(places.map((place) => place.where))) {
        const [namespace, key] = JSON.parse(where) as [readonly string[], string];
        const item = await store.getItem(namespace, key);
        const seen = await seenHoldsIn(store);
        // The next look counts what is held.
        if (item === undefined || keeperOf(seen.holds, item) !== undefined) continue;
        if (await eraseItem(store, item, forgets, seen)) items++;
      }
      return items;
    },
    scrub: async () =>
      access === undefined ? NOT_SCRUBBED : access.call({ operation: "erase" }, (driver) => driver.scrub()),
    ...holder,
    async mark() {
      const value = await store.get([MARK_NAMESPACE], "applied");
      return value === undefined ? undefined : appliedMarkIn(value as Readonly<Record<string, unknown>>);
    },
    async setMark(given) {
      for (let races = 1; ; races++) {
        const known = await store.getItem([MARK_NAMESPACE], "applied");
        const mark = laterMark(known && appliedMarkIn(known.value as Readonly<Record<string, unknown>>), given);
        if (mark === undefined) return;
        const options = { expectedVersion: known?.version ?? null, index: false as const };
        try {
          await store.put([MARK_NAMESPACE], "applied", { ...mark }, options);
          return;
        } catch (error) {
          if (!StateError.is(error, "CONFLICT") || races === MOST_RACES) throw error;
        }
      }
    },
  };
}

/** An entry of the list of holds is kept by the hold on its own person alone: another's must not keep it for ever. */
function keeperOf(holds: ActiveHolds, item: StoreItem): LegalHold | undefined {
  if (item.namespace[0] !== HOLDS) return holdOnItem(holds, item);
  const { subject, lifted } = holdFrom(item.value);
  return lifted === undefined && subject !== undefined ? holds.onPerson(subject) : undefined;
}

async function* pages(store: BaseStore, warnings: Warnings): AsyncGenerator<readonly StoreItem[], void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await store.list([], { recursive: true, limit: 500, ...(cursor !== undefined && { cursor }) });
    for (const { code, message } of page.warnings) warnings.add({ threadId: message, code, message });
    yield page;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function placesIn(item: StoreItem, forgets: Forgets): readonly PersonalPlace[] {
  const where = JSON.stringify([item.namespace, item.key]);
  const matches = (subject: string): boolean => forgets(subject, item.updatedAt.getTime());
  if (ownersOf(item.namespace, item.metadata).some(matches)) {
    const kind = item.namespace[0] === USER_ROOT ? "user data" : "item";
    const { value, ...beside } = personalIn(item);
    return [{ kind, where, path: "value", value, beside }];
  }
  const sweep = new Sweep({ matches });
  for (const [field, value] of Object.entries(personalIn(item))) sweep.value(value, field);
  return sweep.found.map(({ path, value }) => ({ kind: "field", where, path, value }));
}

/** The fields of an item that go with its person, as the rows say. */
const personalIn = (item: StoreItem): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(item).filter(([field]) => "without" in (STORED_RULES.item[field] ?? emptied)));

/** An item about the person is deleted with its vector; an item that only contains a part about them is rewritten without it. */
async function eraseItem(store: BaseStore, item: StoreItem, forgets: Forgets, seen: SeenHolds): Promise<boolean> {
  const { namespace, key, version } = item;
  const matches = (subject: string): boolean => forgets(subject, item.updatedAt.getTime());
  try {
    if (ownersOf(item.namespace, item.metadata).some(matches))
      return await store.delete(namespace, key, { expectedVersion: version });
    const sweep = new Sweep({ matches });
    const value = sweep.value(item.value, "value");
    const metadata = sweep.value(item.metadata, "metadata") as StoreItem["metadata"];
    if (sweep.found.length === 0) return false;
    return await replaceUnlessHeld(store, { namespace, key, value, metadata, expectedVersion: version }, seen);
  } catch (error) {
    // The item was rewritten, or a hold was placed meanwhile: the next pass looks at it again.
    if (StateError.is(error, "CONFLICT") || StateError.is(error, "HELD")) return false;
    throw error;
  }
}
