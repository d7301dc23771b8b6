import { afterAll, afterEach, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { VERSION_IS_GOOD_FOR_MS } from "../../driver/version-watch.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlStore } from "./index.ts";
import { tableNames } from "./layout.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql, open } = place;
  afterAll(place.dispose);
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("a process that is open when a newer build migrates the tables reads and writes nothing more of that part after five seconds, and goes on with the others", async () => {
    const tablePrefix = place.prefix();
    const { version: table } = tableNames(schema, tablePrefix);
    const raise = (part: string, version: number): Promise<unknown> =>
      sql(`UPDATE ${table} SET version = ${version} WHERE part = '${part}'`);
    const clock = performance.now.bind(performance);
    let ahead = 0;
    vi.spyOn(performance, "now").mockImplementation(() => clock() + ahead);
    const checkpointer = open({ dsn: url, tablePrefix });
    const store = postgresqlStore({ dsn: url, schema, tablePrefix });
    await checkpointer.save(said("hello"), "t");
    await store.put(["n"], "k", { v: 1 });

    await raise("checkpoints", 99);
    ahead += VERSION_IS_GOOD_FOR_MS;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => checkpointer.save(said("new"), "u"),
      () => Promise.all(["v", "w"].map((thread) => checkpointer.save(said("together"), thread))),
      () => checkpointer.load("t"),
      () => checkpointer.listThreads(),
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
    await store.close();
  });
});
