import { invalid, optionsOf } from "../driver/options.ts";
import { ownersOf } from "../store/driver/namespaces.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import type { RetentionReceipt } from "./receipts.ts";
import type { RetentionReport } from "./retention.ts";

/**
 * How long something is kept. The first rule of a list that fits a thread or an
 * item decides about it, so the narrow ones stand before the wide ones. What no
 * rule fits stays.
 */
export interface RetentionRule {
  /**
   * `process`: threads and sessions. `user`: items of stores that are about a person,
   * and user data. `ephemeral`: threads and items whose metadata say `{ category:
   * "ephemeral" }`.
   */
  readonly category: "process" | "user" | "ephemeral";
  /** What was last written longer ago goes: of a thread, its old checkpoints; and the thread with the last of them. */
  readonly olderThanDays?: number;
  /**
   * How many of the newest stay: checkpoints of each thread, items of each namespace. With `olderThanDays` both must
   * allow a removal.
   */
  readonly keepLast?: number;
  /** Everything that the rule fits stays, whatever the rules behind it say. */
  readonly keep?: "all";
  /** Only threads whose ids begin with it. */
  readonly threadPrefix?: string;
  /** Only items in this namespace and below it. */
  readonly namespace?: Namespace;
}

/** The rule's own words, for reports: why something went. */
export function whyOf({ olderThanDays, keepLast }: RetentionRule): string {
  const parts = [
    ...(olderThanDays === undefined ? [] : [`older than ${olderThanDays} days`]),
    ...(keepLast === undefined ? [] : [`not among the newest ${keepLast}`]),
  ];
  return parts.join(" and ");
}

/** Which rule decides about a thread; -1 where there is no such rule. */
export function ruleForThread(rules: readonly RetentionRule[], threadId: string, isEphemeral: boolean): number {
  const category = isEphemeral ? "ephemeral" : "process";
  return rules.findIndex(
    (rule) =>
      rule.category === category && rule.namespace === undefined && threadId.startsWith(rule.threadPrefix ?? ""),
  );
}

/** Which rule decides about an item; -1 where there is no such rule. */
export function ruleForItem(
  rules: readonly RetentionRule[],
  namespace: Namespace,
  metadata: Readonly<Record<string, unknown>>,
): number {
  const isOwned = ownersOf(namespace, metadata).length > 0;
  const category = isEphemeral(metadata) ? "ephemeral" : isOwned ? "user" : undefined;
  return rules.findIndex(
    (rule) =>
      rule.category === category &&
      rule.threadPrefix === undefined &&
      (rule.namespace ?? []).every((segment, index) => namespace[index] === segment),
  );
}

export const isEphemeral = (metadata: Readonly<Record<string, unknown>> | undefined): boolean =>
  metadata?.["category"] === "ephemeral";

const NAMES = {
  category: true,
  olderThanDays: true,
  keepLast: true,
  keep: true,
  threadPrefix: true,
  namespace: true,
} as const;

function assertRules(rules: unknown): asserts rules is readonly RetentionRule[] {
  if (!Array.isArray(rules) || rules.length === 0) {
    throw invalid('applyRetention() needs rules: a list such as [{ category: "process", olderThanDays: 90 }]');
  }
  for (const [index, each] of (rules as readonly RetentionRule[]).entries()) {
    const fault = faultIn(optionsOf(`rule ${index + 1}`, each, NAMES));
    if (fault !== undefined) throw invalid(`rule ${index + 1}: ${fault}`);
  }
}

function faultIn({
  category,
  olderThanDays,
  keepLast,
  keep,
  threadPrefix,
  namespace,
}: RetentionRule): string | undefined {
  if (!["process", "user", "ephemeral"].includes(category)) return 'category is "process", "user" or "ephemeral"';
  const limits = [olderThanDays, keepLast].filter((each) => each !== undefined).length;
  if (keep !== undefined && (keep !== "all" || limits > 0)) return 'keep is "all", without a limit beside it';
  if (keep === undefined && limits === 0) return "say what may go: olderThanDays, keepLast, or both";
  if (olderThanDays !== undefined && !(typeof olderThanDays === "number" && olderThanDays >= 0)) {
    return "olderThanDays is a number from 0 on";
  }
  if (keepLast !== undefined && !(Number.isInteger(keepLast) && keepLast >= 1))
    return "keepLast is a whole number from 1 on";
  if (threadPrefix !== undefined && (typeof threadPrefix !== "string" || category === "user")) {
    return "threadPrefix is a text, and for threads: user data has a namespace";
  }
  const isNamespace = Array.isArray(namespace) && namespace.every((segment) => typeof segment === "string");
  if (namespace !== undefined && (!isNamespace || category === "process" || threadPrefix !== undefined)) {
    return "namespace is a list of texts, and for items: threads have a threadPrefix";
  }
  return undefined;
}

export interface RetentionOptions {
  /** The first one that fits decides. */
  readonly rules: readonly RetentionRule[];
  /** Looks and counts, and takes nothing. @default false */
  readonly dryRun?: boolean;
  /** Why, in words without personal data: they stand in the receipt. */
  readonly reason?: string;
}

/** What went, and the proof of it. */
export interface RetentionOutcome extends RetentionReport {
  readonly receipt: RetentionReceipt;
}

export function retentionOptions(given: RetentionOptions): RetentionOptions {
  const options = optionsOf("applyRetention", given, { rules: true, dryRun: true, reason: true });
  const { rules, dryRun, reason } = options;
  assertRules(rules);
  if (dryRun !== undefined && typeof dryRun !== "boolean") throw invalid("dryRun must be true or false");
  if (reason !== undefined && (typeof reason !== "string" || reason.length > 200)) {
    throw invalid("reason must be a text of at most 200 characters");
  }
  return options;
}
