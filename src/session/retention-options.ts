import { invalid, optionsOf } from "../driver/options.ts";
import type { RetentionReceipt } from "./receipts.ts";
import type { RetentionReport } from "./retention.ts";
import { assertRules, type RetentionRule } from "./retention-rules.ts";

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
