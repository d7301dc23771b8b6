import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BreakingLog } from "../../../test/altered-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { LOCAL_BACKENDS, type LocalStorage } from "../../../test/local-backends.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { FaultyLog } from "../../testing/faulty-log.ts";
import { Checkpointer } from "../checkpointer.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const and = (state: AgentState, text: string): AgentState => state.withMessage(userMessage(text));

describe.each(LOCAL_BACKENDS)("on $name", ({ create }) => {
  let storage: LocalStorage;
  beforeEach(async () => {
    storage = await create();
  });
  afterEach(() => storage.dispose());

  test("a state saved into forty threads keeps its place in each", async () => {
    const checkpointer = storage.open();
    const state = said("template");
    for (let index = 0; index < 40; index++) await checkpointer.save(state, `thread ${index}`);
    const next = and(state, "next");
    for (let index = 0; index < 40; index++) await checkpointer.save(next, `thread ${index}`);
    for (let index = 0; index < 40; index++) {
      expect(await checkpointer.listCheckpoints(`thread ${index}`)).toHaveLength(2);
    }
  });

  test("a state that one instance loaded is saved by another, as a delta", async () => {
    const [one, two] = [storage.open(), storage.open()];
    await one.save(said("x".repeat(10_000)), "t");
    const loaded = (await one.load("t"))!;
    await two.save(and(loaded, "two"), "t");
    expect((await two.listCheckpoints("t"))[0]?.bytes).toBeLessThan(1000);
    expect(await failureOf(() => one.save(and(loaded, "rival"), "t"))).toMatchObject({ code: "CONFLICT" });
    expect((await one.load("t"))?.messages).toHaveLength(2);
  });
});

describe("two stores that hold threads of one id", () => {
  test("are never taken for each other, whichever instance saves", async () => {
    const [here, there] = [new MemoryLog(), new MemoryLog()];
    const first = said("first");
    await new Checkpointer(here).save(first, "t");
    await new Checkpointer(there).save(first, "t");
    const second = and(first, "second");
    await new Checkpointer(here).save(second, "t");
    await new Checkpointer(there).save(second, "t");
    for (const log of [here, there]) {
      expect((await new Checkpointer(log).load("t"))?.messages).toHaveLength(2);
      expect(await new Checkpointer(log).listCheckpoints("t")).toHaveLength(2);
    }
  });
});

describe("the making of a thread whose answer was lost, and which was deleted since", () => {
  const once = { retry: { attempts: 1 } };

  test("is not repeated where it was seen to be made", async () => {
    const log = new BreakingLog();
    const [mine, other] = [new Checkpointer(log, once), new Checkpointer(log)];
    const state = said("a");
    log.failures.push("after");
    expect(await failureOf(() => mine.save(state, "t"))).toMatchObject({ context: { written: "unknown" } });
    await other.delete("t");
    const failure = await failureOf(() => mine.save(state, "t"));
    expect(failure).toMatchObject({ code: "CONFLICT", context: { actual: null, written: "no" } });
    expect(failure.message).toMatch(/was made by an earlier attempt at this save and has been deleted since/);
    expect(await other.exists("t")).toBe(false);
    await mine.save(state, "t");
    expect(await other.exists("t"), "who says so once more means it").toBe(true);
  });

  test.each(["before", "after"] as const)(
    "is not repeated unasked where the storage could not be read (lost %s the effect)",
    async (when) => {
      let unreachable = true;
      const inner = new MemoryLog();
      const log = new FaultyLog(inner, {
        faultAt: ({ method }) => {
          if (!unreachable) return undefined;
          return { when: method === "append" ? when : "before", code: "UNAVAILABLE" };
        },
      });
      const checkpointer = new Checkpointer(log, once);
      const state = said("a");
      await failureOf(() => checkpointer.save(state, "t"));
      unreachable = false;
      await inner.remove("t");
      const failure = await failureOf(() => checkpointer.save(state, "t"));
      expect(failure).toMatchObject({ code: "CONFLICT", context: { written: "no" } });
      expect(failure.message).toMatch(/never made or deleted since\. Save once more if it should be there/);
      expect(await checkpointer.exists("t")).toBe(false);
    },
  );

  test("is applied once where the thread is still there", async () => {
    let unreachable = true;
    const log = new FaultyLog(new MemoryLog(), {
      faultAt: ({ method }) => (unreachable ? { when: method === "append" ? "after" : "before" } : undefined),
    });
    const checkpointer = new Checkpointer(log, once);
    const state = said("a");
    await failureOf(() => checkpointer.save(state, "t"));
    unreachable = false;
    await checkpointer.save(state, "t");
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(1);
  });
});
