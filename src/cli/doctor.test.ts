import { afterEach, expect, test, vi } from "vitest";
import { DRIVER_FAULTS } from "../../test/broken/drivers/every-fault.ts";
import { ReferenceLog } from "../../test/broken/drivers/reference-log.ts";
import { assertFound, storageWithThread } from "../../test/cli/doctor-on-broken-driver.ts";
import { holdfast, NOW, type Outcome } from "../../test/cli/fake-world.ts";
import { filledStore } from "../../test/cli/filled-stores.ts";
import { standIn, threadsIn } from "../../test/cli/standing-in.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import type { AppendOutcome, AppendRequest } from "../checkpoint/log/thread-log.ts";
import { StateError } from "../errors.ts";
import { put, recordAt } from "../testing/thread-log-cases/sample-records.ts";
import { AREAS } from "./doctor/proving.ts";
import { Ended } from "./world.ts";

afterEach(() => vi.restoreAllMocks());

const doctor = (args: readonly string[] = [], signal?: AbortSignal): Promise<Outcome> =>
  holdfast(["doctor", "sqlite:./a.db", "-o", "json", ...args], signal === undefined ? {} : { signal });

test("doctor passes a correct driver with all cases that can be run there, and leaves nothing behind", async () => {
  const storage = await storageWithThread();
  // Expiry is waited for in real time: the campaign servers-doctor has the time.
  const log = new ReferenceLog(storage);
  standIn(Object.assign(log, { capabilities: { ...log.capabilities, ttl: false } }));
  const { code, stdout, stderr } = await doctor();
  const found = JSON.parse(stdout);
  expect([code, stderr, found.cases.failed]).toEqual([0, "", []]);
  expect(found.cases.passed).toBeGreaterThan(100);
  expect(found.cases.lacks).toEqual(["catchUp", "clock", "durable", "outage", "storageClock", "ttl"]);
  expect(found).toMatchObject({
    threads: 1,
    damages: [],
    leftBehind: 0,
    latency: { save: { p99Ms: expect.any(Number) } },
  });
  expect(await threadsIn(storage)).toEqual(["mine"]);
});

// Every one of them: doctor-broken-drivers.test.ts.
test.each(DRIVER_FAULTS.filter((_, at) => at % 12 === 0))(
  "doctor finds a driver that $fault, and leaves nothing behind or says so",
  assertFound,
);

test.each(["SIGINT", "SIGTERM"] as const)(
  "doctor that is ended by %s while an append is under way leaves nothing behind",
  async (by) => {
    const storage = await storageWithThread();
    const ending = new AbortController();
    let appends = 0;
    class SlowLog extends ReferenceLog {
      override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
        if (++appends !== 20) return super.append(threadId, request);
        ending.abort(new Ended(by));
        // Arrives after the command has been told to end.
        await new Promise((resolve) => setImmediate(resolve));
        return super.append(threadId, request);
      }
    }
    standIn(new SlowLog(storage));
    const { code, stdout, stderr } = await doctor([], ending.signal);
    expect([code, stdout, stderr]).toEqual([by === "SIGINT" ? 130 : 143, "", "stopped; nothing was left behind\n"]);
    expect(appends).toBe(20);
    expect(await threadsIn(storage)).toEqual(["mine"]);
  },
);

test("doctor leaves out ids of 1024 bytes where the store takes none behind a prefix, as a service does", async () => {
  const storage = new MemoryLog();
  const log = new ReferenceLog(storage);
  const capabilities = { ...log.capabilities, ttl: false, maxThreadIdBytes: 1024 };
  standIn(Object.assign(log, { capabilities }));
  const { code, stdout } = await doctor(["--quick"]);
  const { failed, lacks } = JSON.parse(stdout).cases;
  expect([code, failed, lacks.includes("ids of 1024 bytes behind a prefix")]).toEqual([0, [], true]);
});

test("doctor writes nothing where it may not delete", async () => {
  const storage = await storageWithThread();
  class NoRemoval extends ReferenceLog {
    override async remove(): Promise<never> {
      throw new StateError("PERMISSION_DENIED", "no");
    }
  }
  const append = vi.spyOn(storage, "append");
  standIn(new NoRemoval(storage));
  expect((await doctor()).code).toBe(7);
  expect(append).not.toHaveBeenCalled();
});

test("doctor --clean removes what killed runs left, what may be under way only with --yes, and nothing else", async () => {
  const storage = await storageWithThread();
  const [old, young] = [NOW - 7_200_000, NOW - 60_000].map((time) => `doctor-${time.toString(36)}-0123abcd/7/t`);
  for (const id of [old, young, "doctor-who", "doctor-visits/1/t"]) await put(storage, id ?? "", recordAt(1));
  standIn(storage);
  expect(await doctor(["--clean", "--dry-run"])).toMatchObject({ code: 3 });
  expect(await threadsIn(storage)).toHaveLength(5);
  expect(await doctor(["--clean"])).toMatchObject({ code: 3, stderr: expect.stringContaining("--yes") });
  expect(await threadsIn(storage)).not.toContain(old);
  expect(await threadsIn(storage)).toContain(young);
  expect((await doctor(["--clean", "--yes"])).code).toBe(0);
  expect([...(await threadsIn(storage))].sort()).toEqual(["doctor-visits/1/t", "doctor-who", "mine"]);
});

test("doctor ends with 6 and names the thread where one is damaged, also when it looks at heads only", async () => {
  const storage = await storageWithThread();
  await put(storage, "hurt", recordAt(1, { header: "{" }));
  standIn(storage);
  for (const args of [["--quick"], []]) {
    const { code, stdout } = await doctor(["--cases", "instances", ...args]);
    expect([code, JSON.parse(stdout).damages[0].threadId]).toEqual([6, "hurt"]);
  }
});

test("doctor refuses an area that is none and names those that are; --latency measures only", async () => {
  standIn(new MemoryLog());
  const { code, stderr } = await holdfast(["doctor", "sqlite:./a.db", "--cases", "nonsense"]);
  expect([code, AREAS.every((area) => stderr.includes(area))]).toEqual([2, true]);
  expect((await doctor(["--scratch", "a/b"])).code).toBe(2);
  const { cases, latency } = JSON.parse((await doctor(["--latency", "--scratch", "probe:"])).stdout);
  expect([cases, latency.load.calls > 0]).toEqual([undefined, true]);
});

test("doctor --dry-run changes no byte of a SQLite file; a memory: store has no second instance", async () => {
  const store = await filledStore("one");
  const before = await hashedFiles(store.directory);
  const dry = await holdfast(["doctor", store.url, "--dry-run"]);
  expect([dry.code, await hashedFiles(store.directory)]).toEqual([0, before]);
  const args = ["--cases", "instances", "--quick", "--json"];
  const { cases, threads, clients, freeBytes } = JSON.parse((await holdfast(["doctor", store.url, ...args])).stdout);
  expect([cases.failed, threads, freeBytes > 0, Object.keys(clients)]).toEqual([[], 1, true, ["better-sqlite3"]]);
  await store.dispose();
  const memory = JSON.parse((await holdfast(["doctor", "memory:", ...args])).stdout);
  expect([memory.cases.failed, memory.cases.lacks.includes("reopen")]).toEqual([[], true]);
});
