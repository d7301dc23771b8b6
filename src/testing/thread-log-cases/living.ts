import assert from "node:assert/strict";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import type { Durability } from "../../driver/durability.ts";
import { ERROR_CODES } from "../../errors.ts";
import { another } from "../conformance-case.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { assertAbsent, assertThread, grow, markAt, put, recordAt, refused, requestFor } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

const DURABILITIES: readonly Durability[] = ["memory", "os", "fsync", "replicated"];

/** Every call that reads or writes, on a thread `t` of two records. */
const callsOf = (log: ThreadLog): Readonly<Record<string, () => Promise<unknown>>> => ({
  append: () => log.append("t", requestFor(recordAt(3))),
  readTail: () => log.readTail("t"),
  readCheckpoint: () => log.readCheckpoint("t", "checkpoint-1"),
  entry: () => log.entry("t", "checkpoint-1"),
  tail: () => log.tail("t"),
  list: () => log.list("t", { limit: 5 }),
  copy: () => log.copy("t", "u", "second"),
  ...(log.capabilities.listThreads && { listThreads: () => log.listThreads({ prefix: "", limit: 5 }) }),
  ...(log.capabilities.search !== undefined && { search: () => log.search(["a"], { limit: 5 }) }),
  ...(log.capabilities.metadataQuery && { queryMetadata: () => log.queryMetadata("a", "1", { limit: 5 }) }),
  remove: () => log.remove("t"),
});

export const livingCases: readonly ThreadLogCase[] = threadLogCasesOf("instances", [
  {
    name: "the capabilities are sensible and stay the same",
    run: async ({ subject }) => {
      const { durability, conditionalAppend, listThreads, ttl, maxRecordBytes, maxChainRecords } = subject.capabilities;
      assert.ok(DURABILITIES.includes(durability), `durability is ${durability}`);
      for (const flag of [conditionalAppend, listThreads, ttl]) assert.equal(typeof flag, "boolean");
      assert.ok(maxRecordBytes >= 64 * 1024, "a record of 64 KiB must be possible");
      assert.ok(maxChainRecords >= 1, "a chain has at least one record");
      const before = { ...subject.capabilities };
      await grow(subject, "t", 2);
      assert.deepEqual({ ...subject.capabilities }, before);
      assert.ok(subject.name.length > 0, "errors begin with a name");
    },
  },
  {
    name: "what the capabilities do not offer is refused with their flag, and is not answered",
    run: async ({ subject }) => {
      const { listThreads, search, metadataQuery, subscribe, clock } = subject.capabilities;
      const refused = {
        ...(!listThreads && { listThreads: () => subject.listThreads({ prefix: "", limit: 5 }) }),
        ...(search === undefined && { search: () => subject.search(["a"], { limit: 5 }) }),
        ...(!metadataQuery && { metadataQuery: () => subject.queryMetadata("a", "1", { limit: 5 }) }),
        ...(!clock && { clock: () => subject.now() }),
        ...(!subscribe && { subscribe: () => subject.subscribe("t", () => undefined) }),
      };
      for (const [capability, call] of Object.entries(refused)) {
        const { context } = await failsWith("UNSUPPORTED", call, `without ${capability}`);
        assert.equal(context.capability, capability, "the error names the flag");
      }
    },
  },
  {
    name: "an error of any kind is classified as a known code or as none",
    run: async ({ subject }) => {
      const coded = Object.assign(new Error("no"), { code: "SOMETHING", errno: -1, status: 599 });
      for (const error of [undefined, null, "text", 1, {}, [], new Error("no"), coded, Object.create(null)]) {
        const code = subject.classify(error);
        assert.ok(code === undefined || Object.hasOwn(ERROR_CODES, code), `not a code: ${String(code)}`);
      }
    },
  },
  {
    name: "the storage's clock tells the time and does not go back",
    needs: ["storageClock"],
    run: async ({ subject }) => {
      const first = await subject.now();
      const second = await subject.now();
      assert.ok(first > Date.UTC(2020, 0), "milliseconds since 1970");
      assert.ok(second >= first, `${second} comes after ${first}`);
    },
  },
  {
    name: "what one instance wrote another sees at once, and refuses to overwrite",
    needs: ["reopen", "conditionalAppend"],
    run: async (fixture) => {
      const { subject } = fixture;
      const other = await another(fixture);
      await assertAbsent(other, "t", "before");
      const records = await grow(subject, "t", 2);
      await assertThread(other, "t", records, "through the other instance");
      refused(await other.append("t", requestFor(recordAt(2, { writeId: "late" }))), "a late append by the other");
      const third = await put(other, "t", recordAt(3), { drop: [1] });
      await assertThread(subject, "t", [recordAt(2), third], "through the first instance");
      await other.remove("t");
      await assertAbsent(subject, "t", "after the other removed it");
    },
  },
  {
    name: "everything is there after closing and opening again",
    needs: ["reopen", "durable"],
    run: async (fixture) => {
      const body = Uint8Array.from({ length: 256 }, (_, index) => index);
      const first = await put(fixture.subject, "t", recordAt(1, { body, metadata: '{"b":1,"a":"\\u0000"}' }));
      const rest = [recordAt(2), markAt(3, { head: 2 })];
      for (const record of rest) await put(fixture.subject, "t", record);
      await fixture.subject.close();
      const log = await another(fixture);
      await assertThread(log, "t", [first, ...rest], "the thread");
      assert.equal((await log.tail("t"))?.generation, "first");
      await put(log, "t", recordAt(4));
    },
  },
  {
    name: "after closing every call is refused, and none answers that nothing is there",
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      await subject.close();
      for (const [name, call] of Object.entries(callsOf(subject))) await failureOf(call, `${name} after close`);
    },
  },
  {
    name: "closing twice is harmless",
    run: async ({ subject }) => {
      await subject.close();
      await subject.close();
    },
  },
  {
    name: "while the storage fails every call fails, and none answers that nothing is there",
    needs: ["outage"],
    run: async ({ subject, outage }) => {
      const records = await grow(subject, "t", 2);
      const restore = await outage?.();
      try {
        for (const [name, call] of Object.entries(callsOf(subject))) await failureOf(call, `${name} in an outage`);
      } finally {
        await restore?.();
      }
      await assertThread(subject, "t", records, "after the outage");
    },
  },
]);
