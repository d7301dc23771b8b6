import { describe, expect, test } from "vitest";
import { onMessage } from "../../../test/oracle-stand-in/install.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { OracleCheckpointSaver, OracleStore, oracleCheckpointer } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** Messages that the real driver sends meanwhile: each is a round trip. */
async function costOf(call: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const stop = onMessage(() => count++);
  try {
    await call();
  } finally {
    stop();
  }
  return count;
}

await describeWithStandIn((place) => {
  const open = async (): Promise<Checkpointer> => {
    const { dsn, user, password, tableName } = place;
    const checkpointer = oracleCheckpointer({ dsn, user, password, tableName: tableName(), maxConnections: 1 });
    await checkpointer.connect();
    return checkpointer;
  };

  describe("round trips, counted as messages that leave the driver", () => {
    test("every common call on a small thread is one", async () => {
      await using checkpointer = await open();
      const first = said("one");
      const second = first.withMessage(userMessage("two"));
      let checkpointId = "";
      expect(await costOf(async () => (checkpointId = await checkpointer.save(first, "t1"))), "a first save").toBe(1);
      expect(await costOf(() => checkpointer.save(second, "t1", { metadata: { a: 1 } })), "a save").toBe(1);
      expect(await costOf(() => checkpointer.load("t1")), "a load").toBe(1);
      expect(await costOf(() => checkpointer.load("t1", { checkpointId })), "a load of an older one").toBe(1);
      expect(await costOf(() => checkpointer.exists("t1")), "exists").toBe(1);
      expect(await costOf(() => checkpointer.listCheckpoints("t1")), "a page of history").toBe(1);
      expect(await costOf(() => checkpointer.listThreads()), "a page of threads").toBe(1);
      expect(await costOf(() => checkpointer.queryByMetadata("a", 1)), "a query").toBe(1);
      const copy =
        "a copy, which first reads the source, then whether a person was erased meanwhile, and whether calls are open in it";
      expect(await costOf(() => checkpointer.copyThread("t1", "t2")), copy).toBe(5);
      expect(await costOf(() => checkpointer.save(said("late"), "t1").catch(() => 0)), "a refused save").toBe(2);
      expect(await costOf(() => checkpointer.delete("t1")), "a deletion, which looks for legal holds").toBe(2);
    });

    test("a save is one up to 32 kilobytes, and four beyond; a load of long values is two on a warm session", async () => {
      await using checkpointer = await open();
      let state = said("x".repeat(30_000));
      expect(await costOf(() => checkpointer.save(state, "t")), "30 kB").toBe(1);
      state = state.withMessage(userMessage("y".repeat(60_000)));
      expect(await costOf(() => checkpointer.save(state, "t")), "60 kB").toBe(4);
      // The first load of the session learns that the thread is long, and what its columns are.
      expect(await costOf(() => checkpointer.load("t")), "a cold load").toBe(4);
      expect(await costOf(() => checkpointer.load("t")), "a warm load").toBe(2);
    });

    test("a saver's put, with the rows that SQL finds, is one, and so are writes, a get and a list", async () => {
      const { dsn, user, password, tableName } = place;
      const where = { dsn, user, password, tableName: tableName(), maxConnections: 1 };
      const [saver, other] = [new OracleCheckpointSaver(where), new OracleCheckpointSaver(where)];
      await saver.connect();
      await other.connect();
      const put = (checkpointId: string): Promise<void> =>
        saver.put({ threadId: "t", checkpointId, checkpointData: { checkpointId }, metadata: { step: 1 } });
      const writes = { threadId: "t", checkpointId: "2", taskId: "a", writes: [["c", 1] as const] };
      expect(await costOf(() => put("1")), "a first put").toBe(2);
      expect(await costOf(() => put("2")), "a put").toBe(1);
      expect(await costOf(() => saver.putWrites(writes)), "writes").toBe(1);
      expect(await costOf(() => other.get({ threadId: "t" })), "a get").toBe(1);
      expect(await costOf(() => other.listCheckpoints({ threadId: "t" })), "a list").toBe(1);
      expect(
        await costOf(() => saver.deleteThread("t")),
        "a deletion, which looks first whose the thread is, and for legal holds",
      ).toBe(3);
      await Promise.all([saver.close(), other.close()]);
    });

    test("a store's put, get, list and search are one each; a batch is one for up to sixteen changes", async () => {
      const { dsn, user, password, tableName } = place;
      const store = new OracleStore({ dsn, user, password, tableName: tableName(), maxConnections: 1 });
      await store.connect();
      const ns = ["a"];
      const first = () => store.put(ns, "k", { note: "cats" });
      expect(await costOf(first), "the first put below a segment, which looks whether what is there is sealed").toBe(2);
      expect(await costOf(() => store.put(ns, "other", { note: "cats" })), "a put").toBe(1);
      const expectedVersion = (await store.getItem(ns, "k"))?.version ?? null;
      expect(await costOf(() => store.put(ns, "k", { note: "cats" }, { expectedVersion })), "another").toBe(1);
      expect(
        await costOf(() => store.put(ns, "k", 1, { expectedVersion: "other" }).catch(() => 0)),
        "a refused put",
      ).toBe(1);
      expect(await costOf(() => store.get(ns, "k")), "a get").toBe(1);
      expect(await costOf(() => store.list(ns)), "a list").toBe(1);
      expect(await costOf(() => store.list(ns, { filter: { note: "cats" } })), "with a filter").toBe(1);
      expect(await costOf(() => store.search(ns, { query: "cats", mode: "text" })), "a search").toBe(1);
      expect(await costOf(() => store.update(ns, "k", (value) => value)), "an update").toBe(2);
      expect(await costOf(() => store.delete(ns, "k")), "a deletion, which looks for legal holds").toBe(2);
      const batch = (length: number) =>
        Array.from({ length }, (_, index) => ({ namespace: ns, key: `k${index}`, value: index }));
      expect(await costOf(() => store.putBatch(batch(16))), "sixteen").toBe(1);
      expect(await costOf(() => store.putBatch(batch(40))), "forty, which are checked and then made").toBe(6);
      const text = "x".repeat(100_000);
      expect(await costOf(() => store.put(ns, "large", { text }, { index: false })), "100 kB").toBe(4);
      await store.get(ns, "large");
      expect(await costOf(() => store.get(ns, "large")), "a long value, on a warm session").toBe(3);
      await store.close();
    });

    test("the cost of a save and a load does not grow with the thread", async () => {
      await using checkpointer = await open();
      let state = said("0");
      const costs = new Map<number, readonly number[]>();
      for (let saves = 1; saves <= 300; saves++) {
        state = state.withMetadata({ count: saves });
        const save = await costOf(() => checkpointer.save(state, "long"));
        if (saves === 10 || saves === 300) costs.set(saves, [save, await costOf(() => checkpointer.load("long"))]);
      }
      expect(costs.get(300)).toEqual(costs.get(10));
      expect(costs.get(10)).toEqual([1, 1]);
    });
  });
});
