import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { beginningOf } from "../../src/checkpoint/log/driver-rules.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import type { LogChain, LogEntry, LogRecord, ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { StateError } from "../../src/errors.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { sampleKeyring } from "./sample-keyring.ts";

type Alter = (record: LogRecord, threadId: string) => LogRecord;

const THREADS = ["one/t", "one/u", "two/t"];
const SECRET = "zebra";

/** The log of an open checkpointer. */
export function logOf(checkpointer: Checkpointer): { log: ThreadLog; dispose(): Promise<void> } {
  const log = contextOf(checkpointer)?.log;
  if (log === undefined) throw new Error("a checkpointer without a log");
  return { log, dispose: () => checkpointer.close() };
}

/** What a sealed checkpointer writes, as it lies in the log below it. */
async function sealedThreads(sealing: Sealing): Promise<ReadonlyMap<string, LogChain>> {
  const log = new MemoryLog();
  const checkpointer = new Checkpointer(log, { sealing });
  const chains = new Map<string, LogChain>();
  for (const threadId of THREADS) {
    let state = AgentState.create({ metadata: { subject: "ada" } });
    for (const step of [1, 2, 3]) {
      state = state.withMessage(userMessage(`${SECRET} ${threadId} ${step}`));
      await checkpointer.save(state, threadId, { checkpointId: `c${step}`, metadata: { step } });
    }
    const chain = await log.readRecords(threadId, { limit: 10 });
    if (chain !== undefined) chains.set(threadId, chain);
  }
  return chains;
}

/** Swaps, flipped bits and plain text, in the storage of any log. `bits`: how many of each part are flipped. */
export function testTampering(
  name: string,
  open: () => Promise<{ log: ThreadLog; dispose(): Promise<void> }>,
  bits = 24,
): void {
  const place = async () => {
    const { keyring } = await sampleKeyring();
    const sealing = new Sealing({ keyring, tenant: (threadId) => threadId.split("/")[0] ?? "" });
    const chains = await sealedThreads(sealing);
    const { log, dispose } = await open();
    await log.connect();
    let attempts = 0;
    /** The sealed threads, as they lie in the storage after records in it were changed. */
    const tampered = async (alter: Alter): Promise<Checkpointer> => {
      // The same thread ids for every attempt, in a part of the storage of its own.
      const part = new PrefixLog(log, `${++attempts}/`);
      for (const [threadId, { generation, records }] of chains) {
        const altered = records.map((record) => alter(record, threadId));
        if (altered.every((record, index) => record === records[index])) continue;
        const [record, ...more] = altered;
        if (record === undefined) throw new Error(`${threadId} has no record`);
        const outcome = await part.append(threadId, { expected: beginningOf(generation), record, more });
        expect(outcome.appended).toBe(true);
      }
      return new Checkpointer(part, { sealing });
    };
    const recordAt = (threadId: string, seq: number): LogRecord => {
      const found = chains.get(threadId)?.records.find((record) => record.seq === seq);
      if (found === undefined) throw new Error(`no record ${seq} in ${threadId}`);
      return found;
    };
    return { dispose, tampered, recordAt };
  };

  /** Every way to read the record: each refuses it by name, and nothing of it is handed out. */
  const expectRefused = async (checkpointer: Checkpointer, threadId: string, seq: number, what: string) => {
    const ways = [
      () => checkpointer.load(threadId),
      () => checkpointer.load(threadId, `c${seq}`),
      () => checkpointer.listCheckpoints(threadId),
    ];
    for (const [index, way] of ways.entries()) {
      const answer = await way().catch((error: unknown) => error);
      // A listing reads no bodies: it may be whole where only a body was changed.
      if (index === 2 && !StateError.is(answer)) continue;
      expect(StateError.is(answer, "CORRUPT") && answer.message, `${what}, way ${index}`).toContain(
        `record ${seq} of thread`,
      );
    }
  };

  test(`${name}: any two records that change places are refused and named, across thread, position and tenant`, async () => {
    const { dispose, tampered, recordAt } = await place();
    for (const threadId of THREADS) {
      for (const source of THREADS) {
        for (const from of [1, 2, 3]) {
          if (threadId === source && from === 2) continue;
          const other = recordAt(source, from);
          const kinds: readonly (keyof LogRecord)[][] = [["header", "body"], ["header"], ["body"]];
          for (const kind of kinds) {
            const moved = await tampered((record, at) => {
              if (at !== threadId || record.seq !== 2) return record;
              return { ...record, ...Object.fromEntries(kind.map((key) => [key, other[key]])) };
            });
            await expectRefused(moved, threadId, 2, `${kind.join(" and ")} of ${source} ${from} in ${threadId} 2`);
          }
        }
      }
    }
    await dispose();
  });

  test(`${name}: any flipped bit of nonce, tag, ciphertext or header is refused and named`, async () => {
    const { dispose, tampered, recordAt } = await place();
    const record = recordAt("one/t", 2);
    // The fixed head, the nonce and the tag whole; of the ciphertext as many as are asked for.
    const head = 8 + 24 + 16;
    const all = record.body.byteLength;
    const positions = [...Array(head).keys()];
    for (let at = head; at < all; at += Math.max(1, Math.floor((all - head) / bits))) positions.push(at);
    for (const at of [...positions, all - 1]) {
      const body = Buffer.from(record.body);
      body[at] = (body[at] ?? 0) ^ (1 << (at % 8));
      const flipped = await tampered((entry, id) => (id === "one/t" && entry.seq === 2 ? { ...entry, body } : entry));
      await expectRefused(flipped, "one/t", 2, `bit ${at} of the body`);
    }
    const letters = [...record.header];
    const from = record.header.lastIndexOf(".") + 1;
    for (let at = 0; at < letters.length; at += at < from + 64 ? 1 : Math.max(1, Math.floor(letters.length / bits))) {
      if (at >= 4 && at < from - 1) continue;
      const header = letters.with(at, letters[at] === "A" ? "B" : "A").join("");
      const changed = await tampered((entry, id) => (id === "one/t" && entry.seq === 2 ? { ...entry, header } : entry));
      await expectRefused(changed, "one/t", 2, `letter ${at} of the header`);
    }
    await dispose();
  });

  test(`${name}: what a driver keeps beside it cannot be changed either: names, positions, the write id, the metadata`, async () => {
    const { dispose, tampered } = await place();
    const changes: readonly Partial<LogEntry>[] = [
      { writeId: "another" },
      { base: 2 },
      { head: 1 },
      { metadata: '{"step":9}' },
      { names: ["another"] },
    ];
    for (const change of changes) {
      const changed = await tampered((entry, id) =>
        id === "one/t" && entry.seq === 2 ? { ...entry, ...change } : entry,
      );
      await expectRefused(changed, "one/t", 2, JSON.stringify(change));
    }
    await dispose();
  });

  test(`${name}: plain text in the place of a sealed record, header or body is refused and named`, async () => {
    const { dispose, tampered } = await place();
    const log = new MemoryLog();
    await new Checkpointer(log).save(AgentState.create(), "plain");
    const given = (await log.readTail("plain"))?.records[0] as LogRecord;
    for (const change of [{ header: given.header, body: given.body }, { header: given.header }, { body: given.body }]) {
      const changed = await tampered((entry, id) => {
        if (id !== "one/t" || entry.seq !== 2) return entry;
        return { ...entry, ...change };
      });
      await expectRefused(changed, "one/t", 2, Object.keys(change).join(" and "));
    }
    await dispose();
  });
}
