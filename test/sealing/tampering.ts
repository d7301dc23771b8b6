import { expect, test } from "vitest";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { LogChain, LogEntry, LogRecord, ThreadLog } from "../../src/checkpoint/thread-log.ts";
import { StateError } from "../../src/errors.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { sampleKeyring } from "./sample-keyring.ts";

type Alter = <Entry extends LogEntry>(entry: Entry, threadId: string) => Entry;

/** Any log whose records somebody changed behind its back. */
function altered(log: ThreadLog, alter: Alter): ThreadLog {
  const chain = async (threadId: string, read: Promise<LogChain | undefined>): Promise<LogChain | undefined> => {
    const found = await read;
    return (
      found && {
        ...found,
        tail: alter(found.tail, threadId),
        records: found.records.map((record) => alter(record, threadId)),
      }
    );
  };
  const changes: Partial<ThreadLog> = {
    readTail: (threadId, options) => chain(threadId, log.readTail(threadId, options)),
    readCheckpoint: (threadId, name) => chain(threadId, log.readCheckpoint(threadId, name)),
    readRecords: (threadId, options) => chain(threadId, log.readRecords(threadId, options)),
    tail: async (threadId) => {
      const found = await log.tail(threadId);
      return found && { ...found, entry: alter(found.entry, threadId) };
    },
    entry: async (threadId, name) => {
      const found = await log.entry(threadId, name);
      return found && alter(found, threadId);
    },
    list: async (threadId, options) => (await log.list(threadId, options)).map((entry) => alter(entry, threadId)),
  };
  return new Proxy(log, {
    get: (target, name) => {
      const value: unknown = changes[name as keyof ThreadLog] ?? Reflect.get(target, name);
      return typeof value === "function" && !(name in changes) ? value.bind(target) : value;
    },
  });
}

const THREADS = ["one/t", "one/u", "two/t"];
const SECRET = "zebra";

/** Swaps, flipped bits and plain text, on any log. `bits`: how many of each part are flipped. */
export function testTampering(
  name: string,
  open: () => Promise<{ log: ThreadLog; dispose(): Promise<void> }>,
  bits = 64,
): void {
  const place = async () => {
    const { keyring } = await sampleKeyring();
    const { log, dispose } = await open();
    await log.connect?.();
    const sealing = new Sealing({ keyring, tenant: (threadId) => threadId.split("/")[0] ?? "" });
    const checkpointer = new Checkpointer(log, { sealing });
    for (const threadId of THREADS) {
      let state = AgentState.create({ metadata: { subject: "ada" } });
      for (const step of [1, 2, 3]) {
        state = state.withMessage(userMessage(`${SECRET} ${threadId} ${step}`));
        await checkpointer.save(state, threadId, { checkpointId: `c${step}`, metadata: { step } });
      }
    }
    const recordAt = async (threadId: string, seq: number): Promise<LogRecord> => {
      const found = (await log.readRecords(threadId, { limit: 10 }))?.records.find((record) => record.seq === seq);
      if (found === undefined) throw new Error(`no record ${seq} in ${threadId}`);
      return found;
    };
    const read = (alter: Alter) => new Checkpointer(altered(log, alter), { sealing });
    return { log, dispose, read, recordAt };
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

  test(`${name}: 16.6: any two records that change places are refused and named, across thread, position and tenant`, async () => {
    const { dispose, read, recordAt } = await place();
    for (const threadId of THREADS) {
      for (const source of THREADS) {
        for (const from of [1, 2, 3]) {
          if (threadId === source && from === 2) continue;
          const other = await recordAt(source, from);
          const kinds: readonly (keyof LogRecord)[][] = [["header", "body"], ["header"], ["body"]];
          for (const kind of kinds) {
            const moved = read((entry, at) => {
              if (at !== threadId || entry.seq !== 2) return entry;
              return {
                ...entry,
                ...Object.fromEntries(kind.flatMap((key) => (key in entry ? [[key, other[key]]] : []))),
              };
            });
            await expectRefused(moved, threadId, 2, `${kind.join(" and ")} of ${source} ${from} in ${threadId} 2`);
          }
        }
      }
    }
    await dispose();
  });

  test(`${name}: 16.6: any flipped bit of iv, tag, ciphertext or header is refused and named`, async () => {
    const { dispose, read, recordAt } = await place();
    const record = await recordAt("one/t", 2);
    // The fixed head, the salt, the iv and the tag whole; of the ciphertext as many as are asked for.
    const head = 8 + 16 + 12 + 16;
    const all = record.body.byteLength;
    const positions = [...Array(head).keys()];
    for (let at = head; at < all; at += Math.max(1, Math.floor((all - head) / bits))) positions.push(at);
    for (const at of [...positions, all - 1]) {
      const body = Buffer.from(record.body);
      body[at] = (body[at] ?? 0) ^ (1 << (at % 8));
      const flipped = read((entry, id) =>
        id === "one/t" && entry.seq === 2 && "body" in entry ? { ...entry, body } : entry,
      );
      await expectRefused(flipped, "one/t", 2, `bit ${at} of the body`);
    }
    const letters = [...record.header];
    const from = record.header.lastIndexOf(".") + 1;
    for (let at = 0; at < letters.length; at += at < from + 64 ? 1 : Math.max(1, Math.floor(letters.length / bits))) {
      if (at >= 4 && at < from - 1) continue;
      const header = letters.with(at, letters[at] === "A" ? "B" : "A").join("");
      const changed = read((entry, id) => (id === "one/t" && entry.seq === 2 ? { ...entry, header } : entry));
      await expectRefused(changed, "one/t", 2, `letter ${at} of the header`);
    }
    await dispose();
  });

  test(`${name}: 16.6: what a driver keeps beside it cannot be changed either: names, positions, the write id, the metadata`, async () => {
    const { dispose, read } = await place();
    const changes: readonly Partial<LogEntry>[] = [
      { writeId: "another" },
      { base: 2 },
      { head: 1 },
      { metadata: '{"step":9}' },
      { names: ["another"] },
    ];
    for (const change of changes) {
      const changed = read((entry, id) => (id === "one/t" && entry.seq === 2 ? { ...entry, ...change } : entry));
      await expectRefused(changed, "one/t", 2, JSON.stringify(change));
    }
    await dispose();
  });

  test(`${name}: 16.6: plain text in the place of a sealed record, header or body is refused and named`, async () => {
    const { log, dispose, read } = await place();
    const plain = new Checkpointer(log);
    await plain.save(AgentState.create(), "plain");
    const given = (await log.readTail("plain"))?.records[0] as LogRecord;
    for (const change of [{ header: given.header, body: given.body }, { header: given.header }, { body: given.body }]) {
      const changed = read((entry, id) => {
        if (id !== "one/t" || entry.seq !== 2) return entry;
        return { ...entry, ...Object.fromEntries(Object.entries(change).filter(([key]) => key in entry)) };
      });
      await expectRefused(changed, "one/t", 2, Object.keys(change).join(" and "));
    }
    await dispose();
  });
}
