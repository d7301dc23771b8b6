import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { contextOf } from "../checkpoint/context.ts";
import { everyThread } from "../checkpoint/find/finding.ts";
import { metadataOf } from "../checkpoint/find/summary.ts";
import { vacuumThread } from "../checkpoint/history/retention.ts";
import { type ThreadWarning, Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import type { BaseStore } from "../store/base-store.ts";
import { activeHoldsIn, holdOnItem } from "../store/holds.ts";
import type { StoreItem } from "../store/items/items.ts";
import { accessOf } from "../store/items/store-access.ts";
import { HeldTally } from "./erasure-party.ts";
import type { HeldBack } from "./receipts.ts";
import { isEphemeral, type RetentionRule, ruleForItem, ruleForThread, whyOf } from "./retention-rules.ts";

/** Something that went, or would go. */
export interface RetentionEntry {
  readonly backend: string;
  readonly kind: "checkpoints" | "thread" | "item";
  /** The thread, or the namespace and the key. */
  readonly where: string;
  readonly count: number;
  /** Which rule of the list, from 1, and what it says. */
  readonly rule: number;
  readonly why: string;
}

/** How much went by one rule. */
export interface RetentionTotal {
  readonly rule: number;
  readonly checkpoints: number;
  /** Threads that went whole. */
  readonly threads: number;
  readonly items: number;
}

export interface RetentionReport {
  readonly dryRun: boolean;
  readonly rules: readonly RetentionRule[];
  readonly totals: readonly RetentionTotal[];
  /** The first thousand; `unlisted` more are in the totals alone. */
  readonly entries: readonly RetentionEntry[];
  readonly unlisted: number;
  /** What would have gone and is under legal hold. */
  readonly held: readonly HeldBack[];
  /** How many threads could not be looked at or were busier than this; they have their turn the next time. */
  readonly skipped: number;
  readonly warnings: readonly ThreadWarning[];
}

export interface RetentionPlaces {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
}

const DAY_MS = 86_400_000;
const MOST_ENTRIES = 1000;
const PER_PAGE = 500;

/**
 * One pass over everything. Each thread and each item is a step of its own that
 * is whole or not made, and what was taken is not found again: a run that was
 * interrupted is finished by the next one. What is written meanwhile is young,
 * so a writer that never stops has nothing to lose and cannot keep it from ending.
 */
export async function retain(
  { checkpointers, stores }: RetentionPlaces,
  rules: readonly RetentionRule[],
  { dryRun, now }: { readonly dryRun: boolean; readonly now: number },
): Promise<RetentionReport> {
  const run = new RetentionRun(rules, dryRun);
  for (const [index, each] of checkpointers.entries()) await run.threads(each, `threads ${index + 1}`);
  for (const [index, each] of stores.entries()) await run.items(each, `store ${index + 1}`, now);
  return run.report;
}

class RetentionRun {
  readonly #rules: readonly RetentionRule[];
  readonly #dryRun: boolean;
  readonly #totals: { rule: number; checkpoints: number; threads: number; items: number }[];
  readonly #entries: RetentionEntry[] = [];
  readonly #held: HeldBack[] = [];
  readonly #warnings = new Warnings();
  #unlisted = 0;

  constructor(rules: readonly RetentionRule[], dryRun: boolean) {
    this.#rules = rules;
    this.#dryRun = dryRun;
    this.#totals = rules.map((_, index) => ({ rule: index + 1, checkpoints: 0, threads: 0, items: 0 }));
  }

  get report(): RetentionReport {
    return {
      dryRun: this.#dryRun,
      rules: this.#rules,
      totals: this.#totals,
      entries: this.#entries,
      unlisted: this.#unlisted,
      held: this.#held,
      skipped: this.#warnings.count,
      warnings: this.#warnings.list,
    };
  }

  async threads(checkpointer: BaseCheckpointer, backend: string): Promise<void> {
    const context = contextOf(checkpointer);
    if (context === undefined) {
      throw new StateError("UNSUPPORTED", `${backend} is not over a ThreadLog: rules cannot be applied to it`);
    }
    if (!this.#dryRun) context.assertMayWrite("applyRetention");
    const held = new HeldTally(backend);
    const now = context.now();
    for await (const thread of everyThread(context, "applyRetention", "", this.#warnings)) {
      const { threadId, head } = thread;
      const place = { operation: "applyRetention", threadId };
      await this.#warnings.skipping(threadId, async () => {
        const at = ruleForThread(this.#rules, threadId, isEphemeral(metadataOf(head)));
        const rule = this.#rules[at];
        if (rule === undefined || rule.keep === "all") return;
        const limits = { keepLast: rule.keepLast ?? 0, cutoff: cutoffOf(rule, now), dryRun: this.#dryRun };
        const removed = await heldOr(held, () => context.guard(place, () => vacuumThread(context, thread, limits)));
        if (removed === undefined || removed.checkpoints === 0) return;
        const kind = removed.threads > 0 ? "thread" : "checkpoints";
        this.#add(at, { backend, kind, where: threadId, count: removed.checkpoints });
      });
    }
    this.#held.push(...held.list);
  }

  async items(store: BaseStore, backend: string, clock: number): Promise<void> {
    const access = accessOf(store);
    const operation = "applyRetention";
    if (!this.#dryRun) access?.assertMayWrite(operation);
    const now = (await access?.call({ operation }, (driver) => driver.now())) ?? clock;
    const held = new HeldTally(backend);
    // One that is placed meanwhile is met by the deletion itself.
    const holds = await activeHoldsIn(store);
    for await (const items of namespacesOf(store, this.#rules, this.#warnings)) {
      for (const { item, at } of this.#outdated(items, now)) {
        const hold = holdOnItem(holds, item);
        if (hold === undefined) await this.#remove(store, backend, item, at, held);
        else held.add(hold, 1);
      }
    }
    this.#held.push(...held.list);
  }

  /** The items of one namespace that are to be removed. */
  #outdated(items: readonly ItemAndRule[], now: number): readonly ItemAndRule[] {
    const newest = [...items].sort((a, b) => b.item.updatedAt.getTime() - a.item.updatedAt.getTime());
    const met = new Map<number, number>();
    return newest.filter(({ item, at }) => {
      const rule = this.#rules[at];
      const rank = met.get(at) ?? 0;
      met.set(at, rank + 1);
      if (rule === undefined || rule.keep === "all" || rank < (rule.keepLast ?? 0)) return false;
      return item.updatedAt.getTime() < cutoffOf(rule, now);
    });
  }

  async #remove(store: BaseStore, backend: string, item: StoreItem, at: number, held: HeldTally): Promise<void> {
    const { namespace, key, version } = item;
    try {
      const isGone =
        this.#dryRun || (await heldOr(held, () => store.delete(namespace, key, { expectedVersion: version })));
      const where = JSON.stringify([namespace, key]);
      if (isGone === true) this.#add(at, { backend, kind: "item", where, count: 1 });
    } catch (error) {
      // It was written anew meanwhile, so it is young.
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }

  #add(at: number, { kind, count, ...entry }: Pick<RetentionEntry, "backend" | "kind" | "where" | "count">): void {
    const [total, rule] = [this.#totals[at], this.#rules[at]];
    if (total === undefined || rule === undefined) return;
    if (kind === "item") total.items += count;
    else total.checkpoints += count;
    if (kind === "thread") total.threads++;
    if (this.#entries.length === MOST_ENTRIES) this.#unlisted++;
    else this.#entries.push({ ...entry, kind, count, rule: at + 1, why: whyOf(rule) });
  }
}

const cutoffOf = ({ olderThanDays }: RetentionRule, now: number): number =>
  olderThanDays === undefined ? Number.POSITIVE_INFINITY : now - olderThanDays * DAY_MS;

/** What `work` took; `undefined` where a hold kept it, which is counted. */
async function heldOr<T>(held: HeldTally, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!StateError.is(error, "HELD")) throw error;
    for (const hold of error.context.holds ?? []) held.add(hold, 1);
    return undefined;
  }
}

interface ItemAndRule {
  readonly item: StoreItem;
  readonly at: number;
}

/** The items that a rule fits, namespace by namespace. */
async function* namespacesOf(
  store: BaseStore,
  rules: readonly RetentionRule[],
  warnings: Warnings,
): AsyncGenerator<readonly ItemAndRule[], void, undefined> {
  let current: string | undefined;
  let items: ItemAndRule[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list([], { recursive: true, limit: PER_PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { code, message } of page.warnings) warnings.add({ threadId: message, code, message });
    for (const item of page) {
      const at = ruleForItem(rules, item.namespace, item.metadata);
      if (at === -1) continue;
      const namespace = JSON.stringify(item.namespace);
      if (namespace !== current && items.length > 0) {
        yield items;
        items = [];
      }
      current = namespace;
      items.push({ item, at });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  if (items.length > 0) yield items;
}
