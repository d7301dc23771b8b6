import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { ReferenceLog } from "../broken/drivers/reference-log.ts";
import { sampleKeyring } from "./sample-keyring.ts";

/** Everything that a log holds, as one text: what a reader of the storage sees. */
async function bytesOf(log: ThreadLog): Promise<string> {
  const seen: string[] = [];
  for (const { threadId } of (await log.listThreads({ prefix: "", limit: 1000 })).items.filter(isReadable)) {
    for (const { body, ...entry } of (await log.readRecords(threadId, { limit: 1000 }))?.records ?? []) {
      seen.push(JSON.stringify(entry), Buffer.from(body).toString("latin1"));
    }
  }
  return seen.join("\n");
}

async function place(index: "sealed" | "plain") {
  const { keyring } = await sampleKeyring({ cacheMs: 0 });
  const log = new ReferenceLog(new MemoryLog());
  const checkpointer = new Checkpointer(log, { sealing: new Sealing({ keyring, index }) });
  return { log, checkpointer };
}

const State = Annotation.Root({ ...MessagesAnnotation.spec, note: Annotation<unknown>() });

/** Answers, and waits for a person. What is about Ada says zebra, what is about Bob lion, the rest giraffe. */
const asking = (checkpointer: Checkpointer) =>
  new StateGraph(State)
    .addNode("answer", () => ({
      messages: [new AIMessage({ content: "lion-answer", additional_kwargs: { subject: "bob" } })],
      note: attributed("ada", { list: ["zebra-note"] }),
    }))
    .addNode("ask", () => ({ messages: [new AIMessage(`giraffe-${interrupt("giraffe-question")}`)] }))
    .addEdge(START, "answer")
    .addEdge("answer", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer: toLangGraphSaver(checkpointer) });

const at = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });
const fromAda = () => new HumanMessage({ content: "zebra-words", additional_kwargs: { subject: "ada" } });

describe("graphs under sealing", () => {
  test("with a plain index, no word and no metadata of a graph lies in plain where it names people, or its thread does; the rest is found", async () => {
    const { log, checkpointer } = await place("plain");
    const graph = asking(checkpointer);
    await graph.invoke({ messages: [fromAda()] }, at("named"));
    await graph.invoke(new Command({ resume: "yes" }), at("named"));
    const subject = { ...at("hers"), metadata: { subject: "ada" } };
    await graph.invoke({ messages: [new HumanMessage("zebra-unnamed")] }, subject);
    const saver = saverOf(checkpointer);
    await saver.putWrites({ threadId: "hers", checkpointId: "z", taskId: "t", writes: [["w", "zebra-pending"]] });
    await saver.put({ threadId: "hers", checkpointId: "z", checkpointData: { later: "zebra-later" } });
    await checkpointer.fork("hers", "forked");
    await checkpointer.copyThread("hers", "copied");
    await saver.put({ threadId: "copied", checkpointId: "zz", checkpointData: { later: "zebra-copied" } });
    await saver.put({ threadId: "free", checkpointId: "1", checkpointData: { a: "giraffe" }, metadata: { k: "v" } });
    await saver.prune({ keepLast: 2 });
    const bytes = await bytesOf(log);
    expect(bytes).not.toMatch(/zebra|lion|ada"|bob"/);
    expect(bytes).toContain("giraffe");
    expect((await checkpointer.search("giraffe")).map(({ threadId }) => threadId)).toContain("free");
    expect((await checkpointer.queryByMetadata("k", "v")).map(({ threadId }) => threadId)).toEqual(["free"]);
    expect((await checkpointer.queryByMetadata("source", "loop")).map(({ threadId }) => threadId)).toEqual(["named"]);
    expect((await checkpointer.listCheckpoints("hers"))[1]?.metadata).toMatchObject({ subject: "ada" });
    expect((await graph.getState(at("named"))).values.messages.map(({ content }: BaseMessage) => content)).toEqual([
      "zebra-words",
      "lion-answer",
      "giraffe-yes",
    ]);
  });

  test("one of several people is erased from sealed graphs, forks and copies of them, and the others go on where they wait", async () => {
    for (const index of ["sealed", "plain"] as const) {
      const { log, checkpointer } = await place(index);
      const graph = asking(checkpointer);
      await graph.invoke({ messages: [fromAda()] }, at("t"));
      await checkpointer.fork("t", "forked");
      await checkpointer.copyThread("t", "copied");
      const data = new PersonalData({
        checkpointers: [checkpointer],
        ledger: new InMemoryStore(),
        key: "k".repeat(32),
      });
      await data.open();
      expect((await data.eraseUser("ada")).verified).toBe(true);
      for (const thread of ["t", "forked", "copied"]) {
        await graph.invoke(new Command({ resume: "yes" }), at(thread));
        const { values } = await graph.getState(at(thread));
        expect(values.messages.map(({ content }: BaseMessage) => content)).toEqual([
          "[erased]",
          "lion-answer",
          "giraffe-yes",
        ]);
        expect(JSON.stringify(values.note)).not.toContain("zebra");
      }
      expect(await bytesOf(log)).not.toContain("zebra");
      // With the keys of another keyring nothing opens, and nothing passes for erased.
      const other = new Checkpointer(log, {
        sealing: new Sealing({ keyring: (await sampleKeyring()).keyring, index }),
      });
      await expect(saverOf(other).get({ threadId: "t" })).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    }
  });

  test("without keys, a saver hands out and writes nothing of a sealed thread, and whatever goes over all threads names it and goes on", async () => {
    const { log, checkpointer } = await place("sealed");
    const data = { threadId: "sealed", checkpointId: "1", checkpointData: { a: 1 }, metadata: { run_id: "r" } };
    await saverOf(checkpointer).put(data);
    const plain = new Checkpointer(log);
    const saver = saverOf(plain);
    for (const checkpointId of ["1", "2"]) await saver.put({ ...data, threadId: "plain", checkpointId });
    const refusal = { code: "INCOMPATIBLE", message: expect.stringContaining("option `sealing`") };
    const calls = [
      () => saver.get({ threadId: "sealed" }),
      () => saver.put({ ...data, checkpointId: "2" }),
      () => saver.putWrites({ threadId: "sealed", checkpointId: "1", taskId: "t", writes: [["a", 1]] }),
      () => saver.listCheckpoints({ threadId: "sealed" }),
      () => saver.prune({ threadId: "sealed", keepLast: 1 }),
      () => saver.copyThread("sealed", "copy"),
      () => plain.fork("sealed", "fork"),
    ];
    for (const call of calls) await expect(call(), String(call)).rejects.toMatchObject(refusal);
    const listed = await saver.listThreads();
    expect([...listed]).toEqual(["plain"]);
    const warnings = [{ ...refusal, threadId: "sealed" }];
    expect(listed.warnings).toMatchObject(warnings);
    expect(await saver.prune({ keepLast: 1 })).toMatchObject({ threads: 1, checkpoints: 1, warnings });
    expect(await saver.deleteForRuns({ runIds: ["r"] })).toMatchObject({ threads: 1, checkpoints: 1, warnings });
    expect((await saverOf(checkpointer).get({ threadId: "sealed" }))?.checkpointData).toEqual({ a: 1 });
  });
});
