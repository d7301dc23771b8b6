import { describe, expect, test } from "vitest";
import type { LogRecord } from "../src/checkpoint/log/thread-log.ts";
import type {
  ForkPoint,
  GraphFacts,
  LeaseState,
  MailFacts,
  MovedMark,
  RecordHeader,
  SignalFacts,
  ThreadFacts,
} from "../src/checkpoint/record/record.ts";
import type { PendingWrite, SavedCheckpoint } from "../src/saver/saver.ts";
import type { Tombstone } from "../src/session/erasure-ledger.ts";
import type { ErasureReceipt } from "../src/session/receipts.ts";
import type { Interrupt, InterruptAnswer } from "../src/state/fields.ts";
import type { AppliedMark } from "../src/state/people/applied-mark.ts";
import {
  count,
  emptied,
  name,
  type Rule,
  type RuleOf,
  type RulesOf,
  text,
  without,
  yes,
} from "../src/state/people/field-rule.ts";
import type { LegalHold } from "../src/state/people/legal-hold.ts";
import { STATE_RULES, STORED_RULES } from "../src/state/people/personal-fields.ts";
import { attributed, ERASED, ofNobody } from "../src/state/people/subjects.ts";
import type { StoreItem } from "../src/store/items/items.ts";

/** Every field of a type, which the compiler asks for: a field that is added is missing here, and then in the rows. */
type Names<T> = { readonly [Name in keyof T]-?: true };

const STORED: { readonly [Kind in keyof typeof STORED_RULES]: Readonly<Record<string, true>> } = {
  item: {
    namespace: true,
    key: true,
    value: true,
    metadata: true,
    createdAt: true,
    updatedAt: true,
    version: true,
    expiresAt: true,
  } satisfies Names<StoreItem>,
  record: {
    seq: true,
    writeId: true,
    base: true,
    head: true,
    checkpointId: true,
    names: true,
    header: true,
    metadata: true,
    body: true,
    words: true,
  } satisfies Names<LogRecord>,
  header: {
    format: true,
    kind: true,
    createdAt: true,
    buildsOn: true,
    schema: true,
    messageCount: true,
    bodyBytes: true,
    chain: true,
    freshMessages: true,
    standing: true,
    digest: true,
    graph: true,
    signal: true,
    thread: true,
  } satisfies Names<RecordHeader>,
  thread: {
    kind: true,
    moved: true,
    forkedFrom: true,
    edits: true,
    erasures: true,
    erasing: true,
    holds: true,
    lease: true,
    mail: true,
  } satisfies Names<ThreadFacts>,
  graph: { parent: true, ns: true, id: true, greatest: true, fresh: true } satisfies Names<GraphFacts>,
  signal: { id: true, kind: true } satisfies Names<SignalFacts>,
  mail: { generation: true, waiting: true, taken: true } satisfies Names<MailFacts>,
  lease: {
    id: true,
    owner: true,
    expiresAt: true,
    generation: true,
    holder: true,
  } satisfies Names<LeaseState>,
  moved: { to: true, at: true } satisfies Names<MovedMark>,
  forkedFrom: { threadId: true, checkpointId: true } satisfies Names<ForkPoint>,
  pendingWrite: { taskId: true, index: true, channel: true, value: true } satisfies Names<PendingWrite>,
  graphCheckpoint: {
    threadId: true,
    checkpointNs: true,
    checkpointId: true,
    parentId: true,
    metadata: true,
    createdAt: true,
    checkpointData: true,
    pendingWrites: true,
  } satisfies Names<SavedCheckpoint>,
  hold: {
    id: true,
    subject: true,
    threadPrefix: true,
    reason: true,
    placedBy: true,
    placedAt: true,
    lifted: true,
  } satisfies Names<LegalHold>,
  lifted: { by: true, reason: true, at: true } satisfies Names<NonNullable<LegalHold["lifted"]>>,
  mark: {
    ledger: true,
    appliedTo: true,
    erasures: true,
    receiptsTo: true,
    receipts: true,
  } satisfies Names<AppliedMark>,
  tombstone: {
    number: true,
    requestId: true,
    subject: true,
    reason: true,
    process: true,
    requestedAt: true,
    previous: true,
    lost: true,
  } satisfies Names<Tombstone>,
  receipt: {
    format: true,
    number: true,
    requestId: true,
    subject: true,
    reason: true,
    process: true,
    requestedAt: true,
    finishedAt: true,
    dryRun: true,
    places: true,
    unreached: true,
    held: true,
    verified: true,
    previous: true,
    signature: true,
  } satisfies Names<ErasureReceipt>,
};

describe("every field has a row", () => {
  test.each(Object.entries(STORED))("of what lies around states: %s", (kind, names) => {
    const rows = STORED_RULES[kind as keyof typeof STORED_RULES];
    expect(Object.keys(rows).sort()).toEqual(Object.keys(names).sort());
  });

  test("of states: a row that is left out, or that keeps what it does not look into, does not compile", () => {
    const id = name("an id");
    const answer: RulesOf<InterruptAnswer> = {
      value: emptied,
      at: count("a time"),
      declined: yes("no"),
      reason: text,
      by: text,
    };
    // @ts-expect-error: `reason` has no row.
    const one: RulesOf<InterruptAnswer> = { value: emptied, at: count("a time"), declined: yes("no"), by: text };
    // @ts-expect-error: anything may be in `value`.
    const other: RulesOf<InterruptAnswer> = { ...answer, value: id };
    // @ts-expect-error: what is in it needs rows of its own.
    const child: RuleOf<NonNullable<Interrupt["child"]>> = id;
    expect([one, other, child]).toHaveLength(3);
  });

  test("of states: each that is kept says why", () => {
    const reasons = (rule: Rule): readonly string[] => {
      if ("kept" in rule) return [rule.kept];
      if ("each" in rule) return reasons(rule.each);
      if ("fields" in rule) return Object.values(rule.fields).flatMap(reasons);
      if ("variants" in rule) return Object.values(rule.variants).flatMap(reasons);
      return "own" in rule ? [...Object.values(rule.own), rule.others].flatMap(reasons) : [];
    };
    const all = Object.values(STATE_RULES).flatMap(({ rule }) => reasons(rule));
    expect(all.length).toBeGreaterThan(40);
    for (const why of all) expect(why).toMatch(/\w{3}/);
  });
});

describe("what a rule leaves", () => {
  const judge = ({ value }: { readonly value: unknown }): unknown => value;

  test("a field without a row, and one that is not what its row keeps, are emptied", () => {
    const rule: Rule = { fields: { at: count("a time"), kind: name("a word") } };
    expect(without(rule, { at: "Ann", kind: { of: "Ann" }, later: ["Ann", 7, true, null] }, judge)).toEqual({
      at: ERASED,
      kind: { of: ERASED },
      later: [ERASED, 0, true, null],
    });
  });

  test("values of every kind are emptied to the same kind, and what says whom it is about decides for itself", () => {
    const value = {
      text: "Ann",
      none: "",
      number: 4711,
      big: 7n,
      date: new Date(7),
      bytes: Buffer.from("Ann"),
      map: new Map([["Ann", { of: "Ann" }]]),
      set: new Set(["Ann"]),
      kept: ofNobody("stays"),
      others: attributed("bob", "stays"),
    };
    expect(without(emptied, value, (each) => each)).toEqual({
      text: ERASED,
      none: "",
      number: 0,
      big: 0n,
      date: new Date(0),
      bytes: new Uint8Array(),
      map: new Map([[ERASED, { of: ERASED }]]),
      set: new Set([ERASED]),
      kept: ofNobody("stays"),
      others: attributed("bob", "stays"),
    });
  });

  test("what is empty already is the very same", () => {
    for (const { rule } of Object.values(STATE_RULES)) {
      const left = without(rule, { later: ["Ann", 7n, new Date(7)], metadata: { holdfast: "Ann" } }, judge);
      expect(without(rule, left, judge)).toBe(left);
    }
  });
});
