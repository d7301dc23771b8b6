/** Defects that other checkpointers on PostgreSQL have, or had, each as a statement about this one. */
import { Pool } from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import type { PostgresqlCheckpointerOptions } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const textsOf = (state: AgentState | undefined): readonly string[] | undefined => state?.messages.map(textOf);

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  const open = (options: Partial<PostgresqlCheckpointerOptions> = {}): Checkpointer =>
    place.open({ dsn: url, tablePrefix: place.prefix(), ...options });

  test("two forks of one checkpoint keep their own values, and the base keeps its own", async () => {
    const checkpointer = open();
    const at = await checkpointer.save(said("base").withMetadata({ channel: 0 }), "base");
    for (const branch of ["branch-1", "branch-2"]) {
      await checkpointer.fork("base", branch, { at });
      const state = (await checkpointer.load(branch)) as AgentState;
      await checkpointer.save(state.withMessage(userMessage(branch)).withMetadata({ channel: branch }), branch);
    }
    expect(textsOf(await checkpointer.load("branch-1"))).toEqual(["base", "branch-1"]);
    expect(textsOf(await checkpointer.load("branch-2"))).toEqual(["base", "branch-2"]);
    expect((await checkpointer.load("branch-1"))?.metadata).toEqual({ channel: "branch-1" });
    expect(textsOf(await checkpointer.load("base"))).toEqual(["base"]);
  });

  test("U+0000 in a message, in state and in metadata is kept, and is found again", async () => {
    const checkpointer = open();
    const nul = "a\u0000b";
    await checkpointer.save(said(nul).withMetadata({ [nul]: nul }), "t1", { metadata: { [nul]: nul, text: nul } });
    const loaded = await checkpointer.load("t1");
    expect(textsOf(loaded)).toEqual([nul]);
    expect(loaded?.metadata).toEqual({ [nul]: nul });
    expect(await checkpointer.queryByMetadata(nul, nul)).toHaveLength(1);
    expect(await checkpointer.queryByMetadata("text", "ab")).toHaveLength(0);
    expect(await checkpointer.queryByMetadata("text", nul, { threadPrefix: "t\u0000" })).toHaveLength(0);
    await expect(checkpointer.load(nul)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("half a surrogate pair in user text is kept, and data that looks like a serializer's own is data", async () => {
    const checkpointer = open();
    const lookalike = { lc: 2, type: "constructor", id: ["os", "system"], kwargs: { command: "true" }, method: "from" };
    await checkpointer.save(said("\ud800").withMetadata({ lookalike }), "t1", {
      metadata: { lookalike, half: "\udfff" },
    });
    const loaded = await checkpointer.load("t1");
    expect(textsOf(loaded)).toEqual(["\ud800"]);
    expect(loaded?.metadata).toEqual({ lookalike });
    expect((await checkpointer.listCheckpoints("t1"))[0]?.metadata).toEqual({ lookalike, half: "\udfff" });
  });

  test("one of two writers of a thread gets CONFLICT, and nothing is lost silently", async () => {
    const tablePrefix = place.prefix();
    const [one, two] = [open({ tablePrefix }), open({ tablePrefix })];
    await one.save(said("start"), "t1");
    const save = async (by: Checkpointer, text: string): Promise<string> => {
      const state = (await by.load("t1")) as AgentState;
      return by.save(state.withMessage(userMessage(text)), "t1").then(
        () => text,
        (error: { code: string }) => error.code,
      );
    };
    const states = await Promise.all([one.load("t1"), two.load("t1")]);
    const outcomes = await Promise.all(
      [one, two].map((by, index) =>
        by.save(states[index]!.withMessage(userMessage(`by ${index}`)), "t1").then(
          () => `by ${index}`,
          (error: { code: string }) => error.code,
        ),
      ),
    );
    expect(outcomes.toSorted()[0]).toBe("CONFLICT");
    expect(textsOf(await one.load("t1"))).toEqual(["start", outcomes.toSorted()[1]]);
    expect(await save(two, "redone")).toBe("redone");
    expect(textsOf(await one.load("t1"))).toHaveLength(3);
  });

  test("an idle connection that the server ends does not end the process", async () => {
    const named = new URL(url);
    named.searchParams.set("application_name", "peer defect");
    const checkpointer = open({ dsn: named.href });
    await checkpointer.save(said("hello"), "t1");
    const ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'peer defect'";
    expect(await sql(ended)).not.toEqual([]);
    await vi.waitUntil(
      async () => (await sql("SELECT FROM pg_stat_activity WHERE application_name = 'peer defect'")).length === 0,
      { timeout: 60_000 },
    );
    expect(textsOf(await checkpointer.load("t1"))).toEqual(["hello"]);
  });

  test("eight first uses at once, ten times over: none of the eighty fails", async () => {
    for (let round = 0; round < 10; round++) {
      const empty = `${schema}_${round}`;
      const checkpointers = Array.from({ length: 8 }, () => open({ schema: empty, retry: { attempts: 1 } }));
      const tablePrefix = place.prefix();
      const same = checkpointers.map(() => open({ schema: empty, tablePrefix, retry: { attempts: 1 } }));
      await Promise.all([...checkpointers, ...same].map((each, index) => each.save(said("hello"), `t${index}`)));
      expect(await same[0]!.listThreads()).toHaveLength(8);
      await Promise.all([...checkpointers, ...same].map((each) => each.close()));
      await sql(`DROP SCHEMA ${empty} CASCADE`);
    }
  });

  test("deleting a thread deletes no thread whose id merely begins with it, and wildcards in ids are letters", async () => {
    const checkpointer = open();
    const ids = ["user", "user:42", "user/42", "user42", "%", "_", "*", "user%", "us_r", "\\", "a'b", 'a"b'];
    for (const id of ids) await checkpointer.save(said(id), id);
    for (const id of ["user", "%", "_", "*"]) expect(await checkpointer.delete(id)).toBe(true);
    const left = ids.filter((id) => !["user", "%", "_", "*"].includes(id));
    expect([...(await checkpointer.listThreads())].sort()).toEqual(left.toSorted());
    expect(await checkpointer.listThreads({ pattern: "us_r*" })).toEqual(["us_r"]);
    expect(await checkpointer.listThreads({ pattern: "user%*" })).toEqual(["user%"]);
  });

  test("metadata keys and values that are SQL are keys and values", async () => {
    const checkpointer = open();
    await checkpointer.save(said("private"), "t1", { metadata: { access: "private" } });
    await checkpointer.save(said("quoted"), "t2", { metadata: { "O'Brien's": "O'Brien's" } });
    const keys = [
      "x') OR '1'='1",
      "x') OR 1=1 --",
      "x') UNION SELECT 1,2,3,4,5,6,7 --",
      "access') = 'public' OR '1'='1' OR json_extract(metadata, '$.",
      "'; DROP TABLE checkpoints; --",
      "access}",
      "$.access",
      "%",
    ];
    for (const key of keys) {
      expect(await checkpointer.queryByMetadata(key, "private"), key).toHaveLength(0);
      expect(await checkpointer.queryByMetadata("access", key), key).toHaveLength(0);
    }
    for (const value of ["public' OR '1'='1", "public'; --", "public\u0000' OR '1'='1", "''''", "public' OR 'א'='א"]) {
      expect(await checkpointer.queryByMetadata("access", value), value).toHaveLength(0);
    }
    expect(await checkpointer.queryByMetadata("O'Brien's", "O'Brien's")).toHaveLength(1);
    expect(await checkpointer.search("private'); DROP TABLE x; --")).toHaveLength(0);
    expect(await checkpointer.search("private")).toHaveLength(1);
  });

  test("ids, limits and keys that are not what they should be are refused before any SQL", async () => {
    const checkpointer = open();
    for (const id of [{ $ne: null }, ["t1"], 1, null, ""]) {
      await expect(checkpointer.load(id as never), String(id)).rejects.toThrow();
      await expect(checkpointer.delete(id as never), String(id)).rejects.toThrow();
    }
    for (const limit of ["1; DROP TABLE x", 1.5, -1, Number.NaN]) {
      const wrong = { limit: limit as number };
      await expect(checkpointer.listThreads(wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      await expect(checkpointer.search("a", wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    await expect(checkpointer.queryByMetadata({ $regex: ".*" } as never, 1)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(await checkpointer.listThreads({ limit: 0 })).toEqual([]);
  });

  test("a step stores what it adds: 100 messages of a kilobyte are not five megabytes", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ tablePrefix });
    let state = AgentState.create();
    for (let step = 0; step < 100; step++) {
      state = state.withMessage(userMessage(`${step} ${"x".repeat(1000)}`));
      await checkpointer.save(state, "t1");
    }
    const stored = await sql(`SELECT sum(length(body)) AS bytes FROM ${schema}.${tablePrefix}records`);
    expect(Number(stored[0]?.["bytes"])).toBeLessThan(250_000);
  });

  test("a pool that was handed in is not closed by us", async () => {
    const pool = new Pool({ connectionString: url });
    const checkpointer = open({ pool, dsn: undefined as never });
    await checkpointer.save(said("hello"), "t1");
    await checkpointer.close();
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});
