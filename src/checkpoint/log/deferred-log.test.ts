import { describe, expect, test } from "vitest";
import { FACTS } from "../../backends/memory/facts.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { Checkpointer } from "../checkpointer.ts";
import { DeferredLog, type DriverFacts } from "./deferred-log.ts";
import type { LogCapabilities } from "./thread-log.ts";

const CONNECTING: DriverFacts = { ...FACTS, name: "learning", offers: ["connect"] };

/** Knows that it can search only after contact. */
class LearningLog extends MemoryLog {
  override readonly name = "learning";
  override capabilities: LogCapabilities = FACTS.capabilities;
  search?: () => Promise<[]>;
  async connect(): Promise<void> {
    this.capabilities = { ...FACTS.capabilities, durability: "os" };
    this.search = async () => [];
  }
}

/** A deferred log, and how often its driver was loaded. */
function counted<Log extends MemoryLog>(facts: DriverFacts, make: () => Log) {
  const count = { loads: 0 };
  const log = new DeferredLog(facts, async () => {
    count.loads++;
    return make();
  });
  return { log, count };
}

async function lookOften(checkpointer: Checkpointer): Promise<void> {
  for (let round = 0; round < 50; round++) {
    const { searchMethod, durability } = checkpointer.capabilities;
    expect([
      ["scan", "memory"],
      ["index", "os"],
    ]).toContainEqual([searchMethod, durability]);
    await Promise.resolve();
  }
}

describe("a driver that is loaded at its first use", () => {
  test("is not loaded by being named, described or closed", async () => {
    const { log, count } = counted(FACTS, () => new MemoryLog());
    const checkpointer = new Checkpointer(log);
    expect(checkpointer.capabilities).toEqual(new Checkpointer(new MemoryLog()).capabilities);
    await checkpointer.close();
    expect(count.loads).toBe(0);
  });

  test("is loaded once, however many calls come first", async () => {
    const { log, count } = counted(FACTS, () => new MemoryLog());
    const checkpointer = new Checkpointer(log);
    await Promise.all(["a", "b", "c"].map((id) => checkpointer.save(AgentState.create(), id)));
    expect(await checkpointer.listThreads()).toHaveLength(3);
    expect(count.loads).toBe(1);
  });

  test("that cannot be loaded is tried again by the next call", async () => {
    let fails = true;
    const log = new DeferredLog(FACTS, async () => {
      if (fails) throw new StateError("UNAVAILABLE", "no such file at the moment");
      return new MemoryLog();
    });
    await expect(log.tail("t")).rejects.toThrow("no such file at the moment");
    expect(log.classify(new Error("x"))).toBeUndefined();
    fails = false;
    expect(await log.tail("t")).toBeUndefined();
  });

  test("refuses calls after close, used before or not", async () => {
    for (const uses of [0, 1]) {
      const { log } = counted(FACTS, () => new MemoryLog());
      if (uses > 0) await log.tail("t");
      await log.close();
      await log.close();
      await expect(log.tail("t"), `used ${uses} times`).rejects.toMatchObject({ code: "CLOSED" });
    }
  });

  test("that is closed while it is being loaded is closed when it is there", async () => {
    let arrive: (log: MemoryLog) => void = () => undefined;
    const log = new DeferredLog(FACTS, () => new Promise<MemoryLog>((resolve) => (arrive = resolve)));
    const asked = expect(log.tail("t")).rejects.toMatchObject({ code: "CLOSED" });
    const closed = log.close();
    const driver = new MemoryLog();
    arrive(driver);
    await Promise.all([asked, closed]);
    await expect(driver.tail("t")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("offers what it learnt by contact, and nothing that it lacks", async () => {
    const { log } = counted(CONNECTING, () => new LearningLog());
    expect([log.search, log.catchUp, log.subscribe]).toEqual([undefined, undefined, undefined]);
    const checkpointer = new Checkpointer(log);
    expect(checkpointer.capabilities.searchMethod).toBe("scan");
    // Whoever looks meanwhile must not keep half of the answer.
    const [known] = await Promise.all([checkpointer.connect(), lookOften(checkpointer)]);
    expect([known.searchMethod, known.durability]).toEqual(["index", "os"]);
    expect(log.search).toBeDefined();
    expect(log.catchUp).toBeUndefined();
  });

  test("tells a subscriber who came before it that something may have changed", async () => {
    const { log } = counted(FACTS, () => new MemoryLog());
    let changes = 0;
    const stop = log.subscribe?.("t", () => {
      changes++;
    });
    await log.driver();
    expect(changes).toBe(1);
    await new Checkpointer(log).save(AgentState.create(), "t");
    expect(changes).toBe(2);
    stop?.();
    await log.remove("t");
    expect(changes).toBe(2);
  });

  test("never hears of a subscriber who left before it came", async () => {
    const { log } = counted(FACTS, () => new MemoryLog());
    let changes = 0;
    log.subscribe?.("t", () => {
      changes++;
    })();
    await log.driver();
    await new Checkpointer(log).save(AgentState.create(), "t");
    expect(changes).toBe(0);
  });
});
