import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { type Alteration, AlteredLog } from "../../../test/altered-log.ts";
import { exactForm } from "../../../test/exact-form.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { runs } from "../../../test/property-seed.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { openRecord, type RecordFields, withChecksum } from "./record.ts";

/** A base and two deltas; in "edited" an edit as the tail, in "leased" a lease. */
const log = new AlteredLog({ now: () => 1_700_000_000_000 });
const checkpointer = new Checkpointer(log, { now: () => 1_700_000_000_000, cacheBytes: 0 });
const stored = new Map<string, readonly LogRecord[]>();
let newest = "";

beforeAll(async () => {
  let state = AgentState.create().withMessage(userMessage("one"));
  await checkpointer.save(state, "plain", { checkpointId: "c1", metadata: { step: 1 } });
  state = state.withMessage(userMessage("two"));
  await checkpointer.save(state, "plain", { checkpointId: "c2", metadata: { step: 2 } });
  state = state.withMessage(userMessage("three"));
  await checkpointer.save(state, "plain", { checkpointId: "c3", metadata: { step: 3 } });
  newest = exactForm(state.fields);
  await checkpointer.copyThread("plain", "edited");
  const extra = (await checkpointer.load("edited"))!.withMessage(userMessage("four"));
  await checkpointer.save(extra, "edited", { checkpointId: "c4" });
  await checkpointer.delete("edited", { checkpointId: "c4" });
  await checkpointer.copyThread("plain", "leased");
  await checkpointer.withLease("leased", async () => undefined, { owner: "o" });
  for (const thread of ["plain", "edited", "leased"]) stored.set(thread, (await log.readTail(thread))!.records);
});

test("a header is the JSON of its fields, in the order in which it is read, whatever they are", () => {
  const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.double());
  const text = fc.string({ unit: "binary" }).map((value) => value.toWellFormed());
  const fields = fc.record({
    kind: fc.constantFrom("base", "delta", "edit", "lease"),
    createdAt: number,
    buildsOn: fc.nat(9),
    schema: number,
    messageCount: fc.nat(),
    chain: fc.record({ records: fc.nat(3), bytes: fc.nat(), liveBytes: fc.nat(), baseBytes: fc.nat() }),
    freshMessages: fc.option(fc.array(fc.nat()), { nil: undefined }),
    standing: fc.option(fc.record({ open: fc.nat() }), { nil: undefined }),
    graph: fc.option(fc.record({ parent: text, ns: text }), { nil: undefined }),
    thread: fc.option(fc.record({ forkedFrom: fc.record({ threadId: text, checkpointId: text }) }), { nil: undefined }),
  });
  const parts = { seq: 5, writeId: "w", base: 1, head: 5, checkpointId: "c", metadata: undefined, words: undefined };
  const property = fc.property(fields, (given) => {
    const record = withChecksum({ ...parts, body: Buffer.from("body"), fields: given as RecordFields });
    const { kind, createdAt, buildsOn, schema, messageCount, chain, freshMessages, standing, graph, thread } = given;
    const { records, bytes, liveBytes, baseBytes } = chain;
    const expected = {
      ...{ format: 1, kind, createdAt },
      ...(buildsOn !== (kind === "delta" ? 4 : 0) && { buildsOn }),
      ...(schema !== 0 && { schema }),
      ...{ messages: messageCount, bytes: 4 },
      ...(records > 0 && { chain: [records, bytes, liveBytes, baseBytes] }),
      ...{ fresh: freshMessages, standing, graph, thread },
    };
    const { sum, ...read } = JSON.parse(record.header) as Record<string, unknown>;
    expect(JSON.stringify(read)).toBe(JSON.stringify(expected));
    expect(record.header).toBe(JSON.stringify({ ...read, sum }));
    expect(openRecord(record).messageCount).toBe(messageCount);
  });
  fc.assert(property, runs(300));
});

/** Every value that differs from `value` in one bit. */
function* flips(value: unknown): Generator<unknown> {
  if (typeof value === "number") for (let bit = 0; bit < 12; bit++) yield value ^ (1 << bit);
  if (typeof value === "string") {
    for (let index = 0; index < value.length; index++) {
      for (let bit = 0; bit < 7; bit++) {
        const code = value.charCodeAt(index) ^ (1 << bit);
        yield value.slice(0, index) + String.fromCharCode(code) + value.slice(index + 1);
      }
    }
  }
  if (value instanceof Uint8Array) {
    for (let index = 0; index < value.length; index++) {
      for (let bit = 0; bit < 8; bit++) yield value.with(index, (value[index] ?? 0) ^ (1 << bit));
    }
  }
}

/** The damage goes to the record wherever it is read from, its entry as the tail included. */
function damage(seq: number, field: keyof LogRecord, value: unknown): Alteration {
  return <Entry extends LogEntry>(entry: Entry): Entry => (entry.seq === seq ? { ...entry, [field]: value } : entry);
}

async function outcomeOf(thread: string): Promise<string> {
  try {
    const state = await checkpointer.load(thread);
    return state === undefined ? "absent" : exactForm(state.fields) === newest ? "the newest state" : "a wrong state";
  } catch (error) {
    return (error as { code?: string }).code ?? `untyped: ${String(error)}`;
  }
}

/** What came of all the flips of one field of one record. */
async function outcomes(thread: string, record: LogRecord, field: keyof LogRecord): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const value of flips(record[field])) {
    log.alter = damage(record.seq, field, value);
    const outcome = await outcomeOf(thread);
    found[outcome] = (found[outcome] ?? 0) + 1;
  }
  log.alter = (entry) => entry;
  return found;
}

const FIELDS = ["seq", "writeId", "base", "head", "checkpointId", "header", "metadata", "body"] as const;

describe("a flipped bit in a checkpoint is found, whichever it is", () => {
  test.each(FIELDS)("%s", async (field) => {
    for (const record of stored.get("plain")!) {
      const { CORRUPT = 0, INCOMPATIBLE = 0, ...undetected } = await outcomes("plain", record, field);
      expect(undetected, `record ${record.seq}`).toEqual({});
      expect(CORRUPT).toBeGreaterThan(0);
      // A version number that became larger cannot be told from a newer version.
      expect(INCOMPATIBLE, `record ${record.seq}`).toBeLessThanOrEqual(field === "header" ? 3 : 0);
    }
  });
});

describe("a flipped bit in a record that is no checkpoint never leads to another state", () => {
  test.each(["edited", "leased"])("%s", async (thread) => {
    const tail = stored.get(thread)!.at(-1)!;
    expect(tail.checkpointId).toBeUndefined();
    for (const field of ["base", "head", "header", "body"] as const) {
      const {
        CORRUPT: _,
        INCOMPATIBLE: _newer,
        "the newest state": _right,
        ...wrong
      } = await outcomes(thread, tail, field);
      expect(wrong, field).toEqual({});
    }
  });
});

describe("a truncated record is found", () => {
  test.each(["header", "body", "metadata"] as const)("%s", async (field) => {
    const record = stored.get("plain")!.at(-1)!;
    const whole = record[field]!;
    for (let length = 0; length < whole.length; length++) {
      log.alter = damage(record.seq, field, whole.slice(0, length));
      expect(await outcomeOf("plain"), `${length} of ${whole.length}`).toBe("CORRUPT");
    }
    log.alter = (entry) => entry;
  });
});

describe("the error names what is damaged", () => {
  test("the thread, the record, the checkpoint, and what to make of it", async () => {
    log.alter = damage(2, "body", new Uint8Array(Buffer.from('{"delta":{}}')));
    const failure = await failureOf(() => checkpointer.load("plain"));
    expect(failure.message).toBe(
      'memory: load failed for thread "plain": record 2 does not match its checksum: the stored bytes were damaged or changed by hand',
    );
    expect(failure.context).toMatchObject({ backend: "memory", threadId: "plain", location: "record 2" });
    log.alter = (entry) => entry;
  });

  test.each([
    ["listCheckpoints", () => checkpointer.listCheckpoints("plain")],
    ["stats", () => checkpointer.stats("plain")],
    ["fork", () => checkpointer.fork("plain", "copy")],
    ["delete", () => checkpointer.delete("plain", { checkpointId: "c2" })],
  ])("%s names the thread as well", async (_, call) => {
    log.alter = (entry, threadId) => (threadId === "plain" && entry.seq === 3 ? { ...entry, header: "{" } : entry);
    const failure = await failureOf(call);
    log.alter = (entry) => entry;
    expect(failure).toMatchObject({ code: "CORRUPT", context: { threadId: "plain" } });
    expect(failure.message).toContain('"plain"');
  });

  test("a search goes on without the record, and its warning names the thread", async () => {
    log.alter = (entry, threadId) => (threadId === "plain" && entry.seq === 3 ? { ...entry, header: "{" } : entry);
    const hits = await checkpointer.search("one");
    log.alter = (entry) => entry;
    expect(hits.map(({ threadId }) => threadId)).toContain("plain");
    expect(hits.warnings).toEqual([
      { threadId: "plain", code: "CORRUPT", message: "the header of record 3 is damaged" },
    ]);
  });
});

test("a character that moved from one field to its neighbour is found", async () => {
  log.alter = <Entry extends LogEntry>(entry: Entry): Entry => {
    const { seq, writeId, checkpointId = "", metadata = "" } = entry;
    if (seq !== 2) return entry;
    return { ...entry, writeId: writeId + checkpointId[0], checkpointId: checkpointId.slice(1) + metadata[0] };
  };
  try {
    expect(await failureOf(() => checkpointer.load("plain"))).toMatchObject({ code: "CORRUPT" });
  } finally {
    log.alter = (entry) => entry;
  }
});

test("an unharmed checkpoint below a damaged one still loads by its name", async () => {
  log.alter = damage(3, "body", new Uint8Array(2));
  expect((await checkpointer.load("plain", { checkpointId: "c2" }))?.messages).toHaveLength(2);
  log.alter = (entry) => entry;
});

test("a header is JSON in its shortest form, and opens as what was sealed", () => {
  const chain = { records: 3, bytes: 400, liveBytes: 300, baseBytes: 200 };
  const plain = { createdAt: 1_700_000_000_000, schema: 0, messageCount: 5, chain };
  const quoted = 'a "quoted" \\ line\nof \u2028 é𝄞 \ud800';
  const every: readonly RecordFields[] = [
    { ...plain, kind: "delta", buildsOn: 6 },
    { ...plain, kind: "delta", buildsOn: 3, schema: 2.5, createdAt: 0.125 },
    { ...plain, kind: "base", buildsOn: 0, freshMessages: [], standing: { unfinished: true, waiting: 2 } },
    { ...plain, kind: "base", buildsOn: 2, freshMessages: [0, 4], graph: { parent: quoted, fresh: 1e21 } },
    { ...plain, kind: "edit", buildsOn: 0, thread: { edits: 3, moved: { to: quoted, at: 1 } } },
    { ...plain, kind: "lease", buildsOn: 0, chain: { records: 0, bytes: 0, liveBytes: 0, baseBytes: 0 } },
  ];
  const parts = { seq: 7, writeId: "w", base: 1, head: 1, checkpointId: "c", metadata: undefined, words: undefined };
  for (const fields of every) {
    const record = withChecksum({ ...parts, body: Buffer.from("{}"), fields });
    expect(record.header).toBe(JSON.stringify(JSON.parse(record.header)));
    expect(openRecord(record)).toEqual({ format: 1, bodyBytes: 2, ...fields });
  }
  for (const createdAt of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const record = withChecksum({
      ...parts,
      body: Buffer.from("{}"),
      fields: { ...plain, kind: "edit", buildsOn: 0, createdAt },
    });
    expect(openRecord(record).createdAt).toBeNull();
  }
});
