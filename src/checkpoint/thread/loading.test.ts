import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { redactSecrets } from "../../state/secrets.ts";
import { Checkpointer } from "../checkpointer.ts";
import { type CheckpointContext, contextOf } from "../context.ts";
import type { LogChain } from "../log/thread-log.ts";
import { eraseInThread } from "../people/erasing.ts";

/** A log that counts what its readers are given. */
class CountingLog extends MemoryLog {
  readonly given: number[] = [];

  override async readTail(...given: Parameters<MemoryLog["readTail"]>): Promise<LogChain | undefined> {
    const chain = await super.readTail(...given);
    this.given.push(chain?.records.length ?? -1);
    return chain;
  }
}

const said = (...words: string[]): AgentState =>
  AgentState.create().withMessages(words.map((word) => userMessage(word)));

const wordsOf = (state: AgentState | undefined): readonly unknown[] | undefined =>
  state?.messages.map(({ content }) => content);

const cold = (log: MemoryLog): Checkpointer => new Checkpointer(log, { cacheBytes: 0 });

describe("a thread that this process knows", () => {
  test("is loaded without a record where nothing is new, and with the new ones where something is", async () => {
    const log = new CountingLog();
    const [ours, theirs] = [new Checkpointer(log), cold(log)];
    await ours.save(said("one"), "t");
    expect(wordsOf(await ours.load("t"))).toEqual(["one"]);
    const state = (await theirs.load("t"))?.withMessage(userMessage("two"));
    await theirs.save(state as AgentState, "t");
    log.given.length = 0;
    expect(wordsOf(await ours.load("t"))).toEqual(["one", "two"]);
    expect(wordsOf(await ours.load("t"))).toEqual(["one", "two"]);
    expect(log.given).toEqual([1, 0]);
  });

  test("can be saved on from there, and a second writer is still refused", async () => {
    const log = new MemoryLog();
    const ours = new Checkpointer(log);
    await ours.save(said("one"), "t");
    const [a, b] = [await ours.load("t"), await ours.load("t")];
    await ours.save((a as AgentState).withMessage(userMessage("a")), "t");
    const late = ours.save((b as AgentState).withMessage(userMessage("b")), "t");
    await expect(late).rejects.toMatchObject({ code: "CONFLICT" });
    expect(wordsOf(await cold(log).load("t"))).toEqual(["one", "a"]);
  });

  test("is gone when another process deleted it, and another one when it was made again", async () => {
    const log = new MemoryLog();
    const [ours, theirs] = [new Checkpointer(log), cold(log)];
    await ours.save(said("old"), "t");
    await theirs.delete("t");
    expect(await ours.load("t")).toBeUndefined();
    await ours.save(said("old"), "t");
    await theirs.delete("t");
    await theirs.save(said("new", "newer"), "t");
    expect(wordsOf(await ours.load("t"))).toEqual(["new", "newer"]);
  });

  test("is read whole after its history was edited", async () => {
    const log = new CountingLog();
    const [ours, theirs] = [new Checkpointer(log), cold(log)];
    await ours.save(said("one"), "t", "first");
    const state = (await ours.load("t")) as AgentState;
    await ours.save(state.withMessage(userMessage("two")), "t", "second");
    await theirs.delete("t", "second");
    log.given.length = 0;
    expect(wordsOf(await ours.load("t"))).toEqual(["one"]);
    expect(log.given).toHaveLength(2);
  });

  test("shows nothing any more that another process erased, however the thread went on", async () => {
    const log = new MemoryLog();
    const [ours, theirs] = [new Checkpointer(log), cold(log)];
    await ours.save(AgentState.create().withMessage(userMessage("the secret", { metadata: { subject: "p" } })), "t");
    await eraseInThread(contextOf(theirs) as CheckpointContext, "t", (subject) => subject === "p");
    const after = (await theirs.load("t")) as AgentState;
    await theirs.save(after.withMessage(userMessage("and on")), "t");
    expect(wordsOf(await ours.load("t"))).toEqual(["[erased]", "and on"]);
  });

  test("shows what a redactor wrote, not what the process still remembers", async () => {
    const checkpointer = new Checkpointer(new MemoryLog(), { redact: redactSecrets });
    await checkpointer.save(said(`Bearer sk-${"a1B2".repeat(12)}`), "t");
    expect(String(wordsOf(await checkpointer.load("t")))).toContain("[redacted");
  });

  test("is not shared where it holds bytes, which cannot be frozen", async () => {
    const log = new CountingLog();
    const checkpointer = new Checkpointer(log);
    await checkpointer.save(AgentState.create({ metadata: { bytes: new Uint8Array([1, 2]) } }), "t");
    const first = (await checkpointer.load("t"))?.metadata["bytes"] as Uint8Array;
    first[0] = 9;
    expect((await checkpointer.load("t"))?.metadata["bytes"]).toEqual(new Uint8Array([1, 2]));
    expect(log.given).toEqual([1, 1]);
  });

  test("is forgotten where the cache is full, and where there is none", async () => {
    const log = new CountingLog();
    const small = new Checkpointer(log, { cacheBytes: 6_000 });
    for (const thread of ["a", "b", "c", "d"]) await small.save(said("x".repeat(1_000)), thread);
    for (const thread of ["d", "a"]) await small.load(thread);
    const off = cold(log);
    for (const thread of ["a", "a"]) await off.load(thread);
    expect(log.given).toEqual([0, 1, 1, 1]);
    expect(() => new Checkpointer(log, { cacheBytes: -1 })).toThrow(/cacheBytes must be a number of bytes/);
  });
});

test("whatever three processes do to a thread, a warm load finds what a cold one finds", async () => {
  console.log(`HOLDFAST_SEED=${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 30; round++) {
    const log = new MemoryLog();
    const writers = [new Checkpointer(log), new Checkpointer(log), new Checkpointer(log, { cacheBytes: 3_000 })];
    for (let step = 0; step < 40; step++) {
      const writer = writers[random.below(3)] as Checkpointer;
      const state = (await writer.load("t")) ?? AgentState.create();
      const names = { checkpointId: `name ${random.below(3)}` };
      switch (random.below(8)) {
        case 0:
          await writer.vacuum({ keepLast: 1 + random.below(3) });
          break;
        case 1:
          await writer.delete("t", { checkpointId: `name ${random.below(3)}` });
          break;
        case 2:
          if (random.below(4) === 0) await writer.delete("t");
          break;
        case 3:
          await writer.save(state.withMessages([userMessage(`step ${step}`)]), "t", names);
          break;
        case 4:
          await writer.save(state.with({ messages: state.messages.slice(-2) }), "t");
          break;
        case 5:
          if (state.messages.length > 0) await writer.withLease("t", async () => undefined);
          break;
        default:
          await writer.save(state.withMessages([userMessage(`step ${step}`)]), "t");
      }
      const there = (await cold(log).load("t"))?.toCheckpoint();
      for (const each of writers) expect((await each.load("t"))?.toCheckpoint()).toEqual(there);
    }
  }
});
