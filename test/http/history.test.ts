import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import type { AppendRequest, LogRecord, ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { encodeMetadata } from "../../src/checkpoint/record/metadata.ts";
import { createToken, type ServeOptions } from "../../src/entry/server.ts";
import { grow, markAt, put, recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeAppend } from "../../src/wire/messages.ts";
import { entityTag } from "../../src/wire/names.ts";
import { FRAME_TYPE, SCOPES, type Scope } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { type RawAnswer, rawRequest } from "./raw-requests.ts";
import { type Served, served, sqliteFolder } from "./served.ts";

/** A log as the service sees it, with what is to be undone at the end. */
interface Place {
  readonly log: ThreadLog;
  readonly remove: () => Promise<void>;
}

const PLACES: readonly [name: string, make: () => Promise<Place>][] = [
  ["memory", async () => ({ log: new MemoryLog(), remove: async () => undefined })],
  [
    "sqlite",
    async () => {
      const { open, remove } = await sqliteFolder();
      return { log: open(), remove };
    },
  ],
];

describe.each(PLACES)("in front of %s", (_, make) => {
  let place: Place;
  let there: Served;
  const writer = createToken();
  const keeper = createToken();
  let threads = 0;

  beforeAll(async () => {
    place = await make();
    const entry = (sha256: string, scopes: readonly Scope[]) => ({ sha256, scopes });
    const tokens = [entry(writer.sha256, ["threads:read", "threads:write"]), entry(keeper.sha256, SCOPES)];
    const options: Partial<ServeOptions> = { auth: { tokens } };
    there = await served(place.log, options);
  });
  afterAll(async () => {
    await there[Symbol.asyncDispose]();
    await place.remove();
  });

  /** A new thread of three checkpoints. */
  async function thread(): Promise<string> {
    const id = `thread ${++threads}`;
    await grow(place.log, id, 3);
    return id;
  }

  function append(id: string, request: AppendRequest, token = writer.token): Promise<RawAnswer> {
    const { expected } = request;
    const condition = expected.seq === 0 ? { "if-none-match": "*" } : { "if-match": entityTag(expected) };
    const headers = { host: "localhost", authorization: `Bearer ${token}`, "content-type": FRAME_TYPE, ...condition };
    const path = pathOf("append", { thread: id });
    return rawRequest(there.service.port, { method: "POST", path, headers, body: encodeAppend(request) });
  }

  const idsOf = async (id: string): Promise<readonly (string | undefined)[]> =>
    (await place.log.list(id, { limit: 10 })).map(({ checkpointId }) => checkpointId);

  test("a checkpoint id that the thread has already is refused, and its history stays as it was", async () => {
    const id = await thread();
    for (const checkpointId of ["checkpoint-1", "checkpoint-3"]) {
      const answer = await append(id, requestFor(recordAt(4, { checkpointId })));
      expect([answer.status, answer.body]).toEqual([
        409,
        expect.stringMatching(/"INVALID_ARGUMENT".*carries the name .* already/),
      ]);
    }
    expect(await idsOf(id)).toEqual(["checkpoint-3", "checkpoint-2", "checkpoint-1"]);
    expect((await append(id, requestFor(recordAt(4)))).status).toBe(201);
    expect((await append(id, requestFor(recordAt(5, { checkpointId: "checkpoint-4" })))).status).toBe(409);
  });

  test("it may be taken over where the same append drops the record that has it", async () => {
    const id = await thread();
    const request = requestFor(recordAt(4, { checkpointId: "checkpoint-2" }), { drop: [2] });
    expect((await append(id, request, keeper.token)).status).toBe(201);
    expect(await idsOf(id)).toEqual(["checkpoint-2", "checkpoint-3", "checkpoint-1"]);
  });

  test("a token that may only write gives no name to two records of one append, and moves no further name", async () => {
    const id = await thread();
    const twice = requestFor(recordAt(4, { names: ["x"] }), { more: [recordAt(5, { checkpointId: "x" })] });
    expect((await append(id, twice)).status).toBe(409);
    expect((await append(id, requestFor(recordAt(4, { names: ["checkpoint-1"] })))).status).toBe(409);
    const hidden = requestFor(recordAt(4), { more: [markAt(5, { head: 4, base: 5 })] });
    expect((await append(id, hidden)).status).toBe(403);
    expect(await idsOf(id)).toEqual(["checkpoint-3", "checkpoint-2", "checkpoint-1"]);
    const several = requestFor(recordAt(4, { names: ["x"] }), { more: [recordAt(5), markAt(6, { head: 5 })] });
    expect((await append(id, several)).status).toBe(201);
    expect(await place.log.entry(id, "x")).toMatchObject({ seq: 4 });
  });

  test("in the thread of a graph a name may be taken over, and no record of an agent comes into it", async () => {
    const id = `graph ${++threads}`;
    const header = JSON.stringify({ format: 1, kind: "base", thread: { kind: "graph" } });
    const of = (seq: number, fields: Partial<LogRecord> = {}) => requestFor(recordAt(seq, { header, ...fields }));
    expect((await append(id, of(1))).status).toBe(201);
    expect((await append(id, of(2, { checkpointId: "checkpoint-1", head: 1 }))).status).toBe(201);
    expect(await place.log.entry(id, "checkpoint-1")).toMatchObject({ seq: 2, head: 1 });
    expect((await append(id, requestFor(recordAt(3)))).status).toBe(409);
    const agents = await thread();
    expect((await append(agents, of(4))).status).toBe(409);
  });

  test("an append to a place that the thread has not reached is refused before it can be true", async () => {
    const id = await thread();
    const ahead = requestFor(recordAt(6, { checkpointId: "checkpoint-1" }), { drop: [5] });
    const answers = await Promise.all([
      append(id, requestFor(recordAt(4))),
      append(id, ahead),
      append(id, requestFor(recordAt(5))),
      append(id, ahead),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => status === 201).length).toBeLessThan(3);
    expect([403, 409, 412]).toContain(answers[1]?.status);
    expect(new Set(await idsOf(id)).size).toBe((await idsOf(id)).length);
  });

  test("an append that is repeated is refused with its own record, and one behind the times with what is there", async () => {
    const id = await thread();
    const request = requestFor(recordAt(4));
    expect((await append(id, request)).status).toBe(201);
    for (const expected of [request, requestFor(recordAt(3, { checkpointId: "checkpoint-1" }))]) {
      const answer = await append(id, expected);
      expect(answer.status, answer.body).toBe(412);
      expect(JSON.parse(answer.body)).toMatchObject({ tail: { seq: 4 }, occupant: { seq: expected.record.seq } });
    }
    const nowhere = await append("absent", requestFor(recordAt(2)));
    expect([nowhere.status, nowhere.body]).toEqual([412, '{"appended":false}']);
  });

  test("a token that may only write moves no head, neither back nor to nothing", async () => {
    const id = await thread();
    for (const record of [
      markAt(4, { head: 0 }),
      markAt(4, { head: 2 }),
      recordAt(4, { head: 2 }),
      markAt(4, { head: 3, base: 4 }),
    ]) {
      expect((await append(id, requestFor(record))).status).toBe(403);
    }
    expect((await place.log.tail(id))?.entry).toMatchObject({ seq: 3, head: 3 });
    expect((await append(id, requestFor(markAt(4, { head: 3 })))).status).toBe(201);
    expect((await append(id, requestFor(markAt(5, { head: 3 }), { drop: [4] }))).status).toBe(201);
    expect((await append(id, requestFor(markAt(6, { head: 3 }), { drop: [3] }))).status).toBe(403);
    expect((await append(id, requestFor(markAt(6, { head: 2 }), { drop: [3] }), keeper.token)).status).toBe(201);
  });

  test("metadata that the library could not have written is refused, and spoils no listing", async () => {
    const id = await thread();
    const nested = (depth: number): string => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    for (const metadata of [nested(1_000), nested(100_000), '{"a":{"$":"unheard of"}}', '{"a":{"$":"date","v":"x"}}']) {
      const answer = await append(id, requestFor(recordAt(4, { metadata })));
      expect([answer.status, JSON.parse(answer.body)], metadata.slice(0, 30)).toMatchObject([
        400,
        { code: "INVALID_ARGUMENT" },
      ]);
    }
    const headers = { host: "localhost", authorization: `Bearer ${writer.token}` };
    expect((await rawRequest(there.service.port, { path: "/v1/threads?limit=1000", headers })).status).toBe(200);
    const kept = encodeMetadata({ $: "own", map: new Map([["k", new Set([1n])]]), at: new Date(0), deep: [[[[{}]]]] });
    expect((await append(id, requestFor(recordAt(4, { metadata: kept })))).status).toBe(201);
    expect((await place.log.tail(id))?.entry.metadata).toBe(kept);
  });

  test("a base that lies behind its own record is refused", async () => {
    const id = await thread();
    expect((await append(id, requestFor(recordAt(4, { base: 5 })))).status).toBe(400);
  });

  test("what came past the service is seen by it", async () => {
    const id = await thread();
    expect((await append(id, requestFor(recordAt(4)))).status).toBe(201);
    await put(place.log, id, recordAt(5, { checkpointId: "elsewhere" }));
    expect((await append(id, requestFor(recordAt(6, { checkpointId: "elsewhere" })))).status).toBe(409);
    await place.log.remove(id);
    await grow(place.log, id, 4, "second");
    const stale = requestFor(recordAt(6, { checkpointId: "checkpoint-1" }), { generation: "first" });
    expect((await append(id, stale)).status, "another generation is a conflict").toBe(412);
  });
});
