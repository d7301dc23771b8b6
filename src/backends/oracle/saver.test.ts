import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import type { OraclePlace } from "../../../test/oracle-stand-in/oracle-place.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { seed } from "../../../test/property-seed.ts";
import { runRandomly } from "../../../test/saver/random-operations.ts";
import { toLangGraphSaver } from "../../entry/langgraph.ts";
import { CheckpointSaver } from "../../saver/checkpoint-saver.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { OracleCheckpointSaver, oracleCheckpointer, oracleConnection, oracleDdl } from "./index.ts";
import { OracleLog } from "./log.ts";
import { oracleSaverLogOptions } from "./saver.ts";
import { storedNs } from "./saver-binds.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithStandIn((place) => {
  const { dsn, user, password, sql } = place;
  const connection = oracleConnection({ dsn, user, password });
  const kept = connection.lease(async () => undefined);
  afterAll(() => kept.release());
  const open = (tableName = place.tableName(), options: object = {}): OracleCheckpointSaver =>
    new OracleCheckpointSaver({ connection, tableName, ...options });

  test("the program of the seed runs as it is: put, putWrites, get, listCheckpoints", async () => {
    const saver = new OracleCheckpointSaver({ dsn, user, password, tableName: "locus" });
    await saver.put({ threadId: "t1", checkpointId: "v1", checkpointData: { step: 1 } });
    await saver.putWrites({
      threadId: "t1",
      checkpointId: "v1",
      taskId: "node-a",
      writes: [["channel-x", "pending-write"]],
    });
    expect(await saver.get({ threadId: "t1" })).toMatchObject({
      checkpointId: "v1",
      checkpointData: { step: 1 },
      pendingWrites: [{ taskId: "node-a", channel: "channel-x", value: "pending-write" }],
    });
    await saver.put({ threadId: "t1", checkpointId: "v2", parentId: "v1", checkpointData: { step: 2 } });
    const history = await saver.listCheckpoints({ threadId: "t1" });
    expect(history.map(({ checkpointId, parentId }) => [checkpointId, parentId])).toEqual([
      ["v2", "v1"],
      ["v1", undefined],
    ]);
    const rows = await sql(`SELECT checkpoint_id, parent_checkpoint_id FROM ${user}.locus_checkpoints ORDER BY 1`);
    expect(rows).toEqual([
      { checkpoint_id: "v1", parent_checkpoint_id: null },
      { checkpoint_id: "v2", parent_checkpoint_id: "v1" },
    ]);
    expect(await sql(`SELECT task_id, channel FROM ${user}.locus_writes`)).toEqual([
      { task_id: "node-a", channel: "channel-x" },
    ]);
    await saver.close();
  });

  test("SQL finds checkpoints by their metadata, and when they were put", async () => {
    const tableName = place.tableName();
    const saver = open(tableName, { now: () => Date.UTC(2026, 10, 15, 12) });
    await saver.put({ threadId: "t", checkpointId: "a", checkpointData: {}, metadata: { source: "input", step: -1 } });
    await saver.put({ threadId: "t", checkpointId: "b", checkpointData: {}, metadata: { source: "loop", step: 0 } });
    const rows = await sql(`SELECT checkpoint_id, to_char(created_at, 'YYYY-MM-DD HH24:MI') AS at
      FROM ${user}.${tableName}_CHECKPOINTS WHERE metadata::jsonb ->> 'source' = 'loop'`);
    expect(rows).toEqual([{ checkpoint_id: "b", at: "2026-11-15 12:00" }]);
    await saver.close();
  });

  test("after random operations of two savers, the rows for SQL are what the saver itself lists", async () => {
    const tableName = place.tableName();
    console.log(`random operations use HOLDFAST_SEED=${seed}`);
    const opened: OracleCheckpointSaver[] = [];
    const counts = await runRandomly({
      seed,
      operations: 150,
      now: () => 0,
      open: () => {
        const saver = open(tableName, { slackBytes: 4 * 1024, now: () => 0 });
        opened.push(saver);
        return saver;
      },
    });
    expect(counts.removals).toBeGreaterThan(0);
    const reader = open(tableName);
    expect(await rowsOf(place, tableName)).toEqual(await listedBy(reader));
    for (const saver of [reader, ...opened]) await saver.close();
  });

  test("a copy has rows too, and deleted or pruned checkpoints leave no row", async () => {
    const tableName = place.tableName();
    const saver = open(tableName);
    for (const checkpointId of ["1", "2", "3"]) {
      await saver.put({ threadId: "t", checkpointId, checkpointData: { checkpointId }, metadata: { n: checkpointId } });
      await saver.putWrites({ threadId: "t", checkpointId, taskId: "task", writes: [["c", checkpointId]] });
    }
    await saver.copyThread("t", "u");
    await saver.prune({ threadId: "t", keepLast: 1 });
    expect(await rowsOf(place, tableName)).toEqual(await listedBy(saver));
    await saver.deleteThread("u");
    const counted = await sql(`SELECT (SELECT count(*) FROM ${user}.${tableName}_CHECKPOINTS)::int AS checkpoints,
      (SELECT count(*) FROM ${user}.${tableName}_WRITES)::int AS writes`);
    expect(counted).toEqual([{ checkpoints: 1, writes: 1 }]);
    await saver.close();
  });

  test("when a record is replaced, as by an erasure, its rows are replaced too", async () => {
    const tableName = place.tableName();
    const log = new OracleLog(oracleSaverLogOptions({ connection, tableName }));
    const saver = new CheckpointSaver({ log });
    for (const checkpointId of ["1", "2"]) {
      const metadata = { name: `Ada ${checkpointId}` };
      await saver.put({ threadId: "t", checkpointId, checkpointData: {}, metadata });
    }
    const chain = await log.readRecords("t", { limit: 10 });
    const [first, last] = [chain?.records[0], chain?.records.at(-1)];
    if (chain === undefined || first === undefined || last === undefined) throw new Error("there are two records");
    const { checkpointId: _, names: __, ...unnamed } = last;
    const outcome = await log.append("t", {
      expected: { generation: chain.generation, seq: last.seq, writeId: last.writeId },
      record: { ...unnamed, checkpointId: undefined, seq: last.seq + 1, writeId: "erasure" },
      replace: [{ ...first, metadata: '{"name":"erased"}' }],
    });
    expect(outcome.appended).toBe(true);
    const rows = await sql(
      `SELECT metadata::json ->> 'name' AS name FROM ${user}.${tableName}_CHECKPOINTS ORDER BY seq`,
    );
    expect(rows).toEqual([{ name: "erased" }, { name: "Ada 2" }]);
    await saver.close();
  });

  test("emoji, blanks and the empty namespace are distinct keys; a channel that no column can hold is NULL there and correct in the saver", async () => {
    const tableName = place.tableName();
    const saver = open(tableName);
    const namespaces = ["", " ", "  ", "🧵", "/", "a ".repeat(500)];
    for (const checkpointNs of namespaces) {
      await saver.put({ threadId: "🧶", checkpointNs, checkpointId: "😀", checkpointData: { checkpointNs } });
    }
    const channels = ["", "\u0000", "\ud800", "x".repeat(2000), "💡"];
    const writes = channels.map((channel) => [channel, channel] as const);
    await saver.putWrites({ threadId: "🧶", checkpointId: "😀", taskId: "🛠", writes });
    const other = open(tableName);
    for (const checkpointNs of namespaces) {
      expect((await other.get({ threadId: "🧶", checkpointNs }))?.checkpointData).toEqual({ checkpointNs });
    }
    expect((await other.get({ threadId: "🧶" }))?.pendingWrites.map(({ channel }) => channel)).toEqual(channels);
    const rows = await sql(`SELECT channel FROM ${user}.${tableName}_WRITES ORDER BY idx`);
    expect(rows.map(({ channel }) => channel)).toEqual([null, null, null, null, "💡"]);
    const stored = await sql(`SELECT checkpoint_ns FROM ${user}.${tableName}_CHECKPOINTS`);
    expect(new Set(stored.map((row) => row["checkpoint_ns"]))).toEqual(new Set(namespaces.map(storedNs)));
    await Promise.all([saver.close(), other.close()]);
  });

  test("a state of ten megabytes is put and read back", async () => {
    const tableName = place.tableName();
    const [saver, other] = [open(tableName), open(tableName)];
    const data = { text: "ä".repeat(5 * 1024 * 1024) };
    const metadata = { note: "x".repeat(9000) };
    await saver.put({ threadId: "large", checkpointId: "1", checkpointData: data, metadata });
    const found = await other.get({ threadId: "large", checkpointId: "1" });
    expect(found?.checkpointData["text"]).toHaveLength(data.text.length);
    expect(found?.metadata).toEqual(metadata);
    await Promise.all([saver.close(), other.close()]);
  });

  describe("a tableName whose table has another shape is refused, naming both", () => {
    test("a saver's LOCUS_CHECKPOINTS and a checkpointer's, whichever came first", async () => {
      const checkpointer = oracleCheckpointer({ connection, tableName: "first_checkpoints" });
      await checkpointer.save(said("x"), "t");
      const saver = open("first");
      expect(await failureOf(() => saver.get({ threadId: "t" }))).toMatchObject({
        code: "INCOMPATIBLE",
        message: expect.stringMatching(
          /OracleCheckpointSaver\({ tableName: "first" }\) needs .* the table of threads of oracleCheckpointer\({ tableName: "FIRST_CHECKPOINTS" }\)/,
        ),
      });
      const second = open("second");
      await second.put({ threadId: "t", checkpointId: "1", checkpointData: {} });
      const other = oracleCheckpointer({ connection, tableName: "second_checkpoints" });
      expect(await failureOf(() => other.load("t"))).toMatchObject({
        code: "INCOMPATIBLE",
        message: expect.stringMatching(
          /oracleCheckpointer\({ tableName: "second_checkpoints" }\) needs .* the table of checkpoints of OracleCheckpointSaver\({ tableName: "SECOND" }\)/,
        ),
      });
      expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
      for (const each of [checkpointer, other, saver, second]) await each.close();
    });
  });

  test("a checkpointer and a saver of the same tableName on one pool do not touch each other", async () => {
    const tableName = place.tableName();
    const checkpointer = oracleCheckpointer({ connection, tableName });
    const saver = open(tableName);
    await checkpointer.save(said("agent"), "t");
    await saver.put({ threadId: "t", checkpointId: "1", checkpointData: { graph: true } });
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
    expect((await saver.get({ threadId: "t" }))?.checkpointData).toEqual({ graph: true });
    await checkpointer.close();
    expect(await saver.listThreads()).toEqual(["t"]);
    await saver.close();
  });

  test("a user with only row privileges can do everything that a saver does", async () => {
    const app = await place.addUser();
    const tableName = `${user}.GRAPHS`;
    const lease = connection.lease(async (handle) => handle);
    for (const statement of oracleDdl({ of: "saver", tableName, role: app.user })) {
      await (await lease.get()).ask(statement, {}, true);
    }
    await lease.release();
    const saver = new OracleCheckpointSaver({ dsn, user: app.user, password: app.password, tableName });
    for (const checkpointId of ["1", "2"]) {
      await saver.put({ threadId: "t", checkpointId, checkpointData: { checkpointId } });
      await saver.putWrites({ threadId: "t", checkpointId, taskId: "a", writes: [["c", 1]] });
    }
    await saver.copyThread("t", "u");
    await saver.prune({ threadId: "t", keepLast: 1 });
    expect(await saver.listCheckpoints({ threadId: "u" })).toHaveLength(2);
    expect(await saver.deleteThread("u")).toBe(true);
    await saver.close();
    const refused = new OracleCheckpointSaver({ dsn, user: app.user, password: app.password, tableName: `${user}.NO` });
    expect(await failureOf(() => refused.get({ threadId: "t" }))).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringContaining('of: "saver"'),
    });
    await refused.close();
  });

  test("LangGraph takes it as its checkpointer", async () => {
    const saver = open();
    const graph = toLangGraphSaver(saver);
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const checkpoint = {
      v: 4,
      id: "1ef",
      ts: "",
      channel_values: { a: 1 },
      channel_versions: { a: 1 },
      versions_seen: {},
    };
    const put = await graph.put(config, checkpoint, { source: "input", step: -1, parents: {} }, { a: 1 });
    await graph.putWrites(put, [["b", 2]], "task");
    expect(await graph.getTuple(config)).toMatchObject({
      checkpoint: { channel_values: { a: 1 } },
      pendingWrites: [["task", "b", 2]],
    });
    await saver.close();
  });

  test("a misspelt option is refused", () => {
    expect(() => open("x", { tabelName: "y" })).toThrow(/OracleCheckpointSaver\(\).*tabelName/);
    expect(() => open("x", { dsn: "y:1" })).toThrow(/dsn is the connection's own/);
    expect(() => open("no spaces")).toThrow(/tableName must be/);
  });
});

type Shown = readonly (readonly unknown[])[];

/** What SQL finds of checkpoints and of writes, in one order. */
async function rowsOf({ sql, user }: OraclePlace, tableName: string): Promise<{ checkpoints: Shown; writes: Shown }> {
  const checkpoints =
    await sql(`SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata::json AS metadata
    FROM ${user}.${tableName}_CHECKPOINTS`);
  // Writes whose checkpoint was not put yet are not listed.
  const writes =
    await sql(`SELECT w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx::int AS idx, w.channel
    FROM ${user}.${tableName}_WRITES w JOIN ${user}.${tableName}_CHECKPOINTS c USING (thread_id, checkpoint_ns, checkpoint_id)`);
  return { checkpoints: sorted(checkpoints.map(Object.values)), writes: sorted(writes.map(Object.values)) };
}

/** The same, as listed by the saver. */
async function listedBy(saver: OracleCheckpointSaver): Promise<{ checkpoints: Shown; writes: Shown }> {
  const listed = await saver.listCheckpoints();
  const loaded = await Promise.all(listed.map((each) => each.load()));
  const checkpoints = listed.map(({ threadId, checkpointNs, checkpointId, parentId, metadata }) => {
    const shown = Object.keys(metadata).length === 0 ? null : metadata;
    return [threadId, storedNs(checkpointNs), checkpointId, parentId ?? null, shown];
  });
  const writes = loaded.flatMap((found) =>
    (found?.pendingWrites ?? []).map(({ taskId, index, channel }) => [
      ...[found?.threadId, storedNs(found?.checkpointNs ?? ""), found?.checkpointId],
      ...[taskId, index, channel],
    ]),
  );
  return { checkpoints: sorted(checkpoints), writes: sorted(writes) };
}

const sorted = (rows: Shown): Shown => [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
