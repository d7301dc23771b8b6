import { afterEach, expect, test, vi } from "vitest";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { VERSION_IS_GOOD_FOR_MS } from "../src/driver/version-watch.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import type { Store } from "../src/store/store.ts";
import { failureOf } from "./failure-of.ts";

/** Threads and items in the tables of one place, and a newer build that migrates them. */
export interface VersionedTables {
  readonly checkpointer: Checkpointer;
  readonly store: Store;
  readonly raise: (part: "checkpoints" | "store", version: number) => Promise<unknown>;
}

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** For storages in which looking at the version is a round trip, so that one call in some seconds looks. */
export function raisedVersionIsNoticed(create: () => Promise<VersionedTables>): void {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("a process that is open when a newer build migrates the tables reads and writes nothing more of that part after five seconds, and goes on with the others", async () => {
    const clock = performance.now.bind(performance);
    let ahead = 0;
    vi.spyOn(performance, "now").mockImplementation(() => clock() + ahead);
    const { checkpointer, store, raise } = await create();
    await checkpointer.save(said("hello"), "t");
    await store.put(["n"], "k", { v: 1 });

    await raise("checkpoints", 99);
    ahead += VERSION_IS_GOOD_FOR_MS;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => checkpointer.save(said("new"), "u"),
      () => Promise.all(["v", "w"].map((thread) => checkpointer.save(said("together"), thread))),
      () => checkpointer.send("t", { message: "words" }),
      () => checkpointer.load("t"),
      () => checkpointer.listThreads(),
      () => checkpointer.search("hello"),
      () => checkpointer.queryByMetadata("team", 1),
      () => checkpointer.delete("t"),
    ];
    for (const call of calls) {
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ code: "INCOMPATIBLE" });
      expect(failure.message).toMatch(/"checkpoints" have version 99; this build knows up to 1. Upgrade holdfast/);
    }
    await store.put(["n"], "k", { v: 2 });

    await raise("store", 99);
    ahead += VERSION_IS_GOOD_FOR_MS;
    expect(await failureOf(() => store.put(["n"], "k", { v: 3 }))).toMatchObject({ code: "INCOMPATIBLE" });
    expect(await failureOf(() => store.get(["n"], "k"))).toMatchObject({ code: "INCOMPATIBLE" });

    await raise("checkpoints", 1);
    await raise("store", 1);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
    expect(await store.get(["n"], "k")).toEqual({ v: 2 });
    await checkpointer.close();
    await store.close();
  });
}
