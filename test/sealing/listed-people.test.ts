import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "../session/people.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const SIX = ["ada", "bob", "cyd", "dan", "eve", "fay"];

describe.each([2, 3, 6])("a thread that is about %i people, of whom one's key was destroyed", (count) => {
  const people = SIX.slice(0, count);
  const others = people.filter((each) => each !== "bob");

  async function withoutBob() {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const checkpointer = new Checkpointer(new MemoryLog(), { sealing: new Sealing({ keyring }) });
    const metadata = { subject: people, plan: "all of it" };
    const state = AgentState.create({ metadata }).withMessage(userMessage("said"));
    await checkpointer.save(state, "t", { metadata });
    expect((await checkpointer.load("t"))?.metadata).toEqual(metadata);
    for await (const found of keyring.people()) {
      for (const { token, subject } of found) if (subject === "bob") await keyring.destroy(token);
    }
    return checkpointer;
  }

  test("is still about the others, as after an erasure", async () => {
    const checkpointer = await withoutBob();
    const loaded = await checkpointer.load("t");
    expect(loaded?.metadata).toEqual({ subject: others, plan: "[erased]" });
    expect(loaded?.messages[0]?.content).toBe("[erased]");
    for await (const { metadata } of checkpointer.history("t")) expect(metadata?.["subject"]).toEqual(others);
  });

  test("what is said in it later is found and erased with the others", async () => {
    const checkpointer = await withoutBob();
    const loaded = (await checkpointer.load("t"))!;
    await checkpointer.save(loaded.withMessage(userMessage("later")), "t");
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    expect((await data.inventory("ada")).places).toContainEqual(expect.objectContaining({ kind: "message" }));
    await data.eraseUser("ada");
    expect((await checkpointer.load("t"))?.messages.map(({ content }) => content)).toEqual(["[erased]", "[erased]"]);
  });
});
