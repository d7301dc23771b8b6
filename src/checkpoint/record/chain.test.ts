import { describe, expect, test } from "vitest";
import { AlteredLog } from "../../../test/altered-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { withChecksum } from "./record.ts";

async function fiveCheckpoints(): Promise<{ log: AlteredLog; checkpointer: Checkpointer }> {
  const log = new AlteredLog();
  const checkpointer = new Checkpointer(log, { cacheBytes: 0 });
  let state = AgentState.create();
  for (let step = 1; step <= 5; step++) {
    state = state.withMessage(userMessage(`message ${step}`));
    await checkpointer.save(state, "t", { checkpointId: `c${step}` });
  }
  await checkpointer.save(AgentState.create(), "other");
  return { log, checkpointer };
}

describe("a record that is gone is missed", () => {
  test.each([1, 2, 3, 4])("record %i, below the newest", async (seq) => {
    const { log, checkpointer } = await fiveCheckpoints();
    log.alter = (entry, threadId) => (threadId === "t" && entry.seq === seq ? undefined : entry);
    const failure = await failureOf(() => checkpointer.load("t"));
    expect(failure).toMatchObject({ code: "CORRUPT", context: { threadId: "t", backend: "memory" } });
    expect(failure.message).toContain('memory: load failed for thread "t": checkpoint at record 5 cannot be rebuilt');
    expect((await checkpointer.load("other"))?.messages, "another thread").toEqual([]);
  });

  test("the newest itself", async () => {
    const { log, checkpointer } = await fiveCheckpoints();
    const chain = (await log.readTail("t"))!;
    log.readTail = async () => ({ ...chain, records: chain.records.slice(0, -1) });
    expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "CORRUPT" });
  });

  test("all of them", async () => {
    const { log, checkpointer } = await fiveCheckpoints();
    const chain = (await log.readTail("t"))!;
    log.readTail = async () => ({ ...chain, records: [] });
    expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "CORRUPT" });
  });
});

test("a long conversation loads as it was saved, at every checkpoint, whatever else some of its saves changed", async () => {
  const log = new AlteredLog();
  const checkpointer = new Checkpointer(log, { cacheBytes: 0 });
  const saved: AgentState[] = [];
  let state = AgentState.create();
  for (let step = 0; step < 160; step++) {
    const text = `${step} ${"word ".repeat(120)}`;
    state = state.withMessage(
      step % 20 === 3 ? { ...userMessage(text), metadata: { at: new Date(step) } } : userMessage(text),
    );
    if (step % 50 === 7) state = state.withMetadata({ step }).withArtifact("note", text);
    if (step % 70 === 69) state = state.with({ messages: state.messages.with(step, userMessage("edited")) });
    await checkpointer.save(state, "t", { checkpointId: `c${step}` });
    saved.push(state);
  }
  for (const step of [0, 3, 6, 7, 8, 60, 69, 70, 139, 140, 158, 159]) {
    expect((await checkpointer.load("t", `c${step}`))?.fields, `checkpoint ${step}`).toEqual(saved[step]?.fields);
  }
  expect((await checkpointer.load("t"))?.fields).toEqual(state.fields);
});

test("records in the wrong order are refused", async () => {
  const { log, checkpointer } = await fiveCheckpoints();
  const chain = (await log.readTail("t"))!;
  const [one, two, three, four, five] = chain.records;
  log.readTail = async () => ({ ...chain, records: [one!, three!, two!, four!, five!] });
  expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "CORRUPT" });
});

describe("damage is named by its record, though records are read in batches", () => {
  const damages = {
    "a header that is cut off": (header: string) => header.slice(0, -5),
    "a header with another number": (header: string) => header.replace('"messages":3', '"messages":4'),
    "a header that is two": (header: string) => `${header},${header}`,
  };
  test.each(Object.entries(damages))("%s", async (_name, damaged) => {
    const { log, checkpointer } = await fiveCheckpoints();
    log.alter = (entry, threadId) =>
      threadId === "t" && entry.seq === 3 ? { ...entry, header: damaged(entry.header) } : entry;
    const failure = await failureOf(() => checkpointer.load("t"));
    expect(failure).toMatchObject({ code: "CORRUPT", context: { threadId: "t", location: "record 3" } });
    expect((await checkpointer.load("other"))?.messages, "another thread").toEqual([]);
  });
});

describe("a body that is sound JSON and no state", () => {
  test.each(["{}", "null", "[]", '"text"', '{"base":null}', '{"delta":1}', '{"base":[]}'])(
    "%s is CORRUPT",
    async (text) => {
      const { log, checkpointer } = await fiveCheckpoints();
      const chain = (await log.readTail("t"))!;
      const { header: _, ...parts } = chain.records[0]!;
      const body = new Uint8Array(Buffer.from(text));
      const size = { records: 1, bytes: 2, liveBytes: 2, baseBytes: 2 };
      const fields = { kind: "base" as const, createdAt: 0, buildsOn: 0, schema: 0, messageCount: 0, chain: size };
      const record = withChecksum({ ...parts, body, fields });
      log.readTail = async () => ({ ...chain, tail: record, records: [record] });
      expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "CORRUPT" });
    },
  );
});
