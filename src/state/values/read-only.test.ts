import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { LOCAL_BACKENDS } from "../../../test/local-backends.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../agent-state.ts";
import { userMessage } from "../message.ts";

const given = () => ({ map: new Map<string, unknown>([["a", 1]]), set: new Set([1]), date: new Date(0) });

describe("what cannot be frozen cannot be changed in place", () => {
  const changes: readonly [what: string, change: (parts: ReturnType<typeof given>) => unknown][] = [
    ["Map.set", ({ map }) => map.set("b", 2)],
    ["Map.set of a function", ({ map }) => map.set("fn", () => 1)],
    ["Map.delete", ({ map }) => map.delete("a")],
    ["Map.clear", ({ map }) => map.clear()],
    ["Set.add", ({ set }) => set.add(2)],
    ["Set.delete", ({ set }) => set.delete(1)],
    ["Set.clear", ({ set }) => set.clear()],
    ["Date.setTime", ({ date }) => date.setTime(1)],
    ["Date.setFullYear", ({ date }) => date.setFullYear(1999)],
    ["Date.setUTCHours", ({ date }) => date.setUTCHours(5)],
  ];
  test.each(changes)("%s throws, on a state that was made and on one that was loaded", async (_, change) => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const made = AgentState.create().withMetadata(given());
    await checkpointer.save(made, "t");
    const loaded = (await checkpointer.load("t"))!;
    const stored = AgentState.fromCheckpoint(JSON.parse(JSON.stringify(made.toCheckpoint())));
    for (const state of [made, loaded, stored]) {
      expect(() => change(state.metadata as ReturnType<typeof given>)).toThrow(
        /belongs to a state, which never changes/,
      );
      expect(state.metadata).toEqual(given());
    }
  });

  test("your own stay yours, and a copy can be changed", () => {
    const mine = given();
    const state = AgentState.create().withMetadata(mine);
    mine.map.set("b", 2);
    mine.set.add(2);
    mine.date.setTime(1);
    expect(state.metadata).toEqual(given());
    const copy = new Map(state.metadata["map"] as Map<string, unknown>).set("b", 2);
    const date = new Date(state.metadata["date"] as Date);
    date.setTime(5);
    expect(state.withMetadata({ map: copy, date }).metadata["map"]).toEqual(copy);
    expect(structuredClone(state.metadata)).toEqual(given());
  });

  test("a function that was put into a Map by force is refused with its path", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const state = AgentState.create().withMetadata(given());
    Map.prototype.set.call(state.metadata["map"], "fn", () => 1);
    const failure = await failureOf(() => checkpointer.save(state, "t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { path: "state.metadata.map(value 1)" } });
    expect(await checkpointer.exists("t")).toBe(false);
    expect(await failureOf(() => state.toCheckpoint())).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe.each(LOCAL_BACKENDS)("on $name, bytes changed in place", ({ create }) => {
  const withFile = (data: Uint8Array): AgentState =>
    AgentState.create()
      .withMetadata({ plain: 1 })
      .withMessage(userMessage([{ type: "file", mediaType: "text/plain", data }]));
  const bytesOf = (state: AgentState): Uint8Array => {
    const content = state.messages[0]?.content as readonly { readonly data?: Uint8Array }[] | undefined;
    return content?.[0]?.data ?? new Uint8Array();
  };

  test("after a save or a load are found by the next save, with their path, and nothing is written", async () => {
    const storage = await create();
    const checkpointer = storage.open();
    const saved = withFile(Buffer.from("saved"));
    await checkpointer.save(saved, "t");
    const loaded = (await checkpointer.load("t"))!;
    const elsewhere = (await storage.open().load("t"))!;
    for (const state of [saved, loaded, elsewhere]) {
      bytesOf(state)[0] = 0;
      const failure = await failureOf(() => checkpointer.save(state.withMessage(userMessage("more")), "t"));
      expect(failure).toMatchObject({
        code: "INVALID_ARGUMENT",
        context: { path: "state.messages[0].content[0].data" },
      });
      expect(failure.message).toMatch(/changed in place.*Load the state again/);
    }
    expect(Buffer.from(bytesOf((await checkpointer.load("t"))!)).toString()).toBe("saved");
    await storage.dispose();
  });

  test("before the first save are what is saved", async () => {
    const storage = await create();
    const checkpointer = storage.open();
    const state = withFile(Buffer.from("early"));
    bytesOf(state)[0] = "E".charCodeAt(0);
    await checkpointer.save(state, "t");
    await checkpointer.save(state.withMessage(userMessage("more")), "t");
    expect(Buffer.from(bytesOf((await checkpointer.load("t"))!)).toString()).toBe("Early");
    await storage.dispose();
  });
});

test("of very many bytes each save looks at a part, and the change is found after a few", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  let state = AgentState.create();
  for (let index = 0; index < 6; index++) {
    const data = new Uint8Array(1_500_000).fill(index);
    state = state.withMessage(userMessage([{ type: "file", mediaType: "text/plain", data }]));
  }
  await checkpointer.save(state, "t");
  const content = state.messages[4]?.content as readonly { readonly data: Uint8Array }[] | undefined;
  content?.[0]?.data.set([99], 7);
  const outcomes: boolean[] = [];
  for (let step = 0; step < 3 && !outcomes.includes(false); step++) {
    state = state.withMetadata({ step });
    outcomes.push(
      await checkpointer.save(state, "t").then(
        () => true,
        () => false,
      ),
    );
  }
  expect(outcomes).toContain(false);
});
