import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import type { LogRecord, ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { sampleKeyring } from "./sample-keyring.ts";

/** A log in whose storage records lie that were removed from it. */
class WithRecordsPutBack extends PrefixLog {
  putBack: readonly LogRecord[] = [];
  readonly #log: ThreadLog;

  constructor(log: ThreadLog) {
    super(log, "");
    this.#log = log;
  }

  override async readCheckpoint(threadId: string, name: string) {
    const chain = await this.#log.readCheckpoint(threadId, name);
    const old = this.putBack.find(({ checkpointId }) => checkpointId === name);
    const tail = await this.#log.tail(threadId);
    if (chain !== undefined || old === undefined || tail === undefined) return chain;
    const records = this.putBack.filter(({ seq }) => seq >= old.base && seq <= old.seq);
    return { generation: tail.generation, tail: tail.entry, records };
  }

  override async readRecords(threadId: string, options: { readonly before?: number; readonly limit: number }) {
    const chain = await this.#log.readRecords(threadId, options);
    const { before = Number.POSITIVE_INFINITY } = options;
    return chain && { ...chain, records: [...this.putBack.filter(({ seq }) => seq < before), ...chain.records] };
  }

  override async entry(threadId: string, name: string) {
    return (await this.#log.entry(threadId, name)) ?? this.putBack.find(({ checkpointId }) => checkpointId === name);
  }

  override async list(threadId: string, options: { readonly before?: number; readonly limit: number }) {
    const { before = Number.POSITIVE_INFINITY } = options;
    const old = this.putBack.filter(({ seq }) => seq < before).toReversed();
    return [...(await this.#log.list(threadId, options)), ...old].slice(0, options.limit);
  }
}

async function vacuumed() {
  const { keyring } = await sampleKeyring();
  const log = new WithRecordsPutBack(new MemoryLog());
  const open = (): Checkpointer => new Checkpointer(log, { sealing: new Sealing({ keyring }) });
  const checkpointer = open();
  let state = AgentState.create({ metadata: { subject: "ada" } });
  for (const step of [1, 2, 3, 4]) {
    state = state.withMessage(userMessage(`zebra ${step}`));
    await checkpointer.save(state, "t", { checkpointId: `c${step}` });
  }
  const before = await log.readRecords("t", { limit: 100 });
  await checkpointer.vacuum({ keepLast: 2 });
  const removed = (before?.records ?? []).filter(({ seq }) => seq <= 2);
  expect(await open().load("t", "c1"), "it was removed").toBeUndefined();
  return { log, open, removed, checkpointer, state };
}

const PUT_BACK = { code: "CORRUPT", message: expect.stringMatching(/record [12] of thread "t" was removed/) };

describe("a record that was vacuumed from a sealed thread, and put back into the storage", () => {
  test("is refused by name in every way to read it, and the thread goes on", async () => {
    const { log, open, removed, checkpointer, state } = await vacuumed();
    log.putBack = removed;
    for (const each of [open(), checkpointer]) {
      await expect(each.load("t", "c1")).rejects.toMatchObject(PUT_BACK);
      await expect(each.load("t", "c2")).rejects.toMatchObject(PUT_BACK);
      await expect(each.listCheckpoints("t")).rejects.toMatchObject(PUT_BACK);
      await expect(each.copyThread("t", `copy-${each === checkpointer}`)).rejects.toMatchObject(PUT_BACK);
      expect((await each.load("t"))?.messages).toHaveLength(4);
      expect((await each.load("t", "c3"))?.messages).toHaveLength(3);
    }
    await checkpointer.save(state.withMessage(userMessage("zebra 5")), "t", { checkpointId: "c5" });
    await expect(open().load("t", "c1"), "whatever is written since hands it on").rejects.toMatchObject(PUT_BACK);
    expect((await open().load("t"))?.messages).toHaveLength(5);
  });

  test("is refused in a copy of the thread, and belongs to none that is made anew under its name", async () => {
    const { log, open, removed, checkpointer } = await vacuumed();
    await checkpointer.copyThread("t", "u");
    expect((await open().load("u"))?.messages).toHaveLength(4);
    expect(await open().listCheckpoints("u")).toHaveLength(2);
    await checkpointer.delete("t");
    await checkpointer.save(AgentState.create().withMessage(userMessage("anew")), "t", { checkpointId: "c1" });
    expect((await open().load("t"))?.messages).toHaveLength(1);
    expect(await open().listCheckpoints("t")).toHaveLength(1);
    log.putBack = removed;
    await expect(open().load("t", "c2")).rejects.toMatchObject({ code: "CORRUPT" });
  });
});
