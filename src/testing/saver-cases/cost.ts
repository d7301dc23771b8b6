import assert from "node:assert/strict";
import { contextOf } from "../../checkpoint/context.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import type { Saver } from "../../saver/saver.ts";
import { putLine, type SaverCase, saved, saverCasesOf } from "./saver-case.ts";

const STEPS = 120;
const MESSAGE = "x".repeat(900);

const ids = (name = "c"): readonly string[] =>
  Array.from({ length: STEPS }, (_, step) => `${name}${String(step).padStart(4, "0")}`);

/** A conversation of as many messages as the id says; each is unlike the others. */
const messagesAt = (id: string): readonly unknown[] =>
  Array.from({ length: Number(id.slice(1)) + 1 }, (_, step) => ({ text: `${step} ${MESSAGE}`, role: "user" }));

const dataOf = (id: string): Record<string, unknown> => ({
  channel_values: { messages: messagesAt(id) },
  channel_versions: { messages: Number(id.slice(1)) },
});

/** What lies in the thread: bodies, headers and metadata. */
async function bytesOf(saver: Saver, threadId: string): Promise<number> {
  const log = contextOf(saver)?.log;
  let [bytes, before]: [number, number | undefined] = [0, undefined];
  for (;;) {
    const query = { limit: 500, ...(before !== undefined && { before }) };
    const records: readonly LogRecord[] = (await log?.readRecords(threadId, query))?.records ?? [];
    if (records[0] === undefined) return bytes;
    for (const { body, header, metadata } of records)
      bytes += body.byteLength + header.length + (metadata?.length ?? 0);
    before = records[0].seq;
  }
}

/** Each message once, and as much again for everything else. */
const LINEAR = STEPS * MESSAGE.length * 2;

/** Where a reader should not have to fetch many records, bases are written between: each after as many new bytes as it costs. */
function linearFor(saver: Saver): number {
  const { maxChainRecords = Number.POSITIVE_INFINITY } = contextOf(saver)?.log.capabilities ?? {};
  return Number.isFinite(maxChainRecords) ? 2 * LINEAR : LINEAR;
}

export const costCases: readonly SaverCase[] = saverCasesOf("cost", [
  {
    name: "a list that grows by one with every checkpoint is stored once",
    needs: ["log"],
    run: async ({ subject }) => {
      await putLine(subject, "t", ids(), { dataOf });
      const bytes = await bytesOf(subject, "t");
      assert.ok(bytes < LINEAR, `${bytes} bytes for ${STEPS} messages of ${MESSAGE.length}`);
    },
  },
  {
    name: "namespaces, pending writes and objects around a list share its elements",
    needs: ["log"],
    run: async ({ subject }) => {
      const all = ids();
      for (const [step, checkpointId] of all.entries()) {
        const at = { threadId: "t", checkpointId };
        await subject.put({
          ...at,
          checkpointData: dataOf(checkpointId),
          ...(step > 0 && { parentId: all[step - 1] as string }),
        });
        await subject.putWrites({ ...at, taskId: "sub", writes: [["messages", messagesAt(checkpointId)]] });
        const start = { channel_values: { __start__: { messages: messagesAt(checkpointId) } } };
        await subject.put({ ...at, checkpointNs: `sub:${step}`, checkpointData: start });
        await subject.put({
          ...at,
          checkpointNs: `sub:${step}`,
          checkpointId: `${checkpointId}b`,
          checkpointData: dataOf(checkpointId),
        });
      }
      const bytes = await bytesOf(subject, "t");
      assert.ok(bytes < LINEAR * 2, `${bytes} bytes for ${STEPS} messages of ${MESSAGE.length}`);
    },
  },
  {
    name: "writes that all come before their checkpoints cost no more than those that come after",
    needs: ["log"],
    run: async ({ subject }) => {
      for (const checkpointId of ids()) {
        const writes = [["messages", messagesAt(checkpointId).slice(-1)]] as const;
        await subject.putWrites({ threadId: "t", checkpointId, taskId: "a", writes });
      }
      await putLine(subject, "t", ids(), { dataOf });
      const bytes = await bytesOf(subject, "t");
      assert.ok(bytes < linearFor(subject), `${bytes} bytes for ${STEPS} messages of ${MESSAGE.length}`);
      assert.equal((await saved(subject, { threadId: "t" })).pendingWrites.length, 1);
    },
  },
  {
    name: "what waits is written together: fifty writes at once are few appends",
    needs: ["log"],
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      const log = contextOf(subject)?.log;
      const before = (await log?.tail("t"))?.entry.seq ?? 0;
      let appends = 0;
      const original = log?.append.bind(log);
      if (log !== undefined && original !== undefined) {
        log.append = (...given) => {
          appends++;
          return original(...given);
        };
      }
      const tasks = Array.from({ length: 50 }, (_, index) => `task ${index}`);
      await Promise.all(
        tasks.map((taskId) =>
          subject.putWrites({ threadId: "t", checkpointId: "c1", taskId, writes: [["x", taskId]] }),
        ),
      );
      if (log !== undefined && original !== undefined) log.append = original;
      assert.equal(((await log?.tail("t"))?.entry.seq ?? 0) - before, 50);
      assert.ok(appends <= 5, `${appends} appends`);
    },
  },
]);
