import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { LogCapabilities } from "../log/thread-log.ts";

const fast = { retry: { attempts: 2, baseDelayMs: 0 } };

/** A storage that is known only after contact, and that can be away. */
class RemoteLog extends MemoryLog {
  contacts = 0;
  reachable = true;
  readonly secrets = ["hunter2"];
  #learnt: LogCapabilities | undefined;

  override connect(): Promise<void> {
    this.contacts++;
    if (!this.reachable) return Promise.reject(new StateError("UNAVAILABLE", "no answer for user a with hunter2"));
    this.#learnt = { ...this.capabilities, durability: "os", ttl: true };
    Object.defineProperty(this, "capabilities", { value: this.#learnt });
    return Promise.resolve();
  }
}

const unsureLog = (): RemoteLog => {
  const log = new RemoteLog();
  const capabilities = { ...log.capabilities, ttl: false, connects: true };
  Object.defineProperty(log, "capabilities", { value: capabilities, configurable: true, writable: true });
  return log;
};

async function warningsDuring(work: () => Promise<unknown>): Promise<readonly Error[]> {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): number => warnings.push(warning);
  process.on("warning", onWarning);
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", onWarning);
  return warnings.filter(({ name }) => name === "HoldfastWarning");
}

test("contact is made once, however many calls come first", async () => {
  const log = unsureLog();
  const checkpointer = new Checkpointer(log, fast);
  await Promise.all([checkpointer.load("a"), checkpointer.load("b"), checkpointer.exists("c")]);
  await checkpointer.load("a");
  expect(log.contacts).toBe(1);
});

test("capabilities that only the storage knows are known after connect()", async () => {
  const checkpointer = new Checkpointer(unsureLog(), fast);
  expect(checkpointer.capabilities).toMatchObject({ ttl: false, durability: "memory" });
  expect(await checkpointer.connect()).toMatchObject({ ttl: true, durability: "os", persistentCheckpointIds: true });
  expect(checkpointer.capabilities.ttl).toBe(true);
});

test("a call that needs a capability asks the storage before it says UNSUPPORTED", async () => {
  const checkpointer = new Checkpointer(unsureLog(), fast);
  await checkpointer.save(AgentState.create(), "t", { ttlSeconds: 60 });
  expect(await checkpointer.exists("t")).toBe(true);
});

test("the first save is planned with what contact taught, not with what was sure before", async () => {
  const log = unsureLog();
  Object.defineProperty(log, "capabilities", { value: { ...log.capabilities, maxRecordBytes: 1 }, configurable: true });
  log.connect = async () => {
    Object.defineProperty(log, "capabilities", { value: { ...log.capabilities, maxRecordBytes: 1e6 } });
  };
  const checkpointer = new Checkpointer(log, fast);
  await checkpointer.save(AgentState.create(), "t");
  expect(await checkpointer.exists("t")).toBe(true);
});

test("no contact is an error of every call until there is contact, and never an absent thread", async () => {
  const log = unsureLog();
  log.reachable = false;
  const checkpointer = new Checkpointer(log, fast);
  const failure = await checkpointer.load("t").catch((error: unknown) => error as StateError);
  expect(failure).toMatchObject({ code: "UNAVAILABLE", context: { threadId: "t" } });
  expect(log.contacts).toBe(2);
  log.reachable = true;
  expect(await checkpointer.load("t")).toBeUndefined();
});

test("of several calls that find no contact, each error names its own thread", async () => {
  const log = unsureLog();
  log.reachable = false;
  const checkpointer = new Checkpointer(log, fast);
  const failures = await Promise.allSettled(["a", "b"].map((threadId) => checkpointer.load(threadId)));
  expect(failures.map((one) => (one.status === "rejected" ? String(one.reason) : "loaded"))).toEqual([
    'StateError: memory: load failed for thread "a": no answer for user a with ***',
    'StateError: memory: load failed for thread "b": no answer for user a with ***',
  ]);
});

test("a secret that the driver names is in no error", async () => {
  const log = unsureLog();
  log.reachable = false;
  const failure = await new Checkpointer(log, fast).load("t").catch((error: unknown) => error as Error);
  expect(String((failure as Error).stack)).toContain("no answer for user a with ***");
  expect(String((failure as Error).stack)).not.toContain("hunter2");
});

test("one warning says that the storage gives less durability than was asked for", async () => {
  const warnings = await warningsDuring(async () => {
    const checkpointer = new Checkpointer(unsureLog(), { ...fast, durability: "fsync" });
    await checkpointer.load("a");
    await checkpointer.load("b");
  });
  expect(warnings.map(({ message }) => message)).toEqual([
    'memory: durability "fsync" is asked for, but the storage as it is configured gives "os": what was saved last may be gone after a power cut',
  ]);
});

test("enough durability warns of nothing", async () => {
  const warnings = await warningsDuring(() => new Checkpointer(unsureLog(), { ...fast, durability: "os" }).connect());
  expect(warnings).toEqual([]);
});

test("a durability that does not exist is INVALID_ARGUMENT", () => {
  const options = { durability: "forever" as "fsync" };
  expect(() => new Checkpointer(new MemoryLog(), options)).toThrow(/durability must be one of "memory"/);
});
