import { expect } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import { casesOf } from "../../src/cli/doctor/proving.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { threadLogCases } from "../../src/testing/thread-log-cases/suite.ts";
import type { DriverFault } from "../broken/drivers/fault.ts";
import { holdfast } from "./fake-world.ts";
import { standIn, threadsIn } from "./standing-in.ts";

/** A storage that already holds another user's thread. */
export async function storageWithThread(): Promise<MemoryLog> {
  const storage = new MemoryLog();
  await new Checkpointer(new PrefixLog(storage, "")).save(AgentState.create(), "mine", "c1");
  return storage;
}

/** Doctor proves these on no store that is in use. */
const BEYOND_REACH: ReadonlySet<string> = new Set(["outage", "clock"]);

/** Fails unless doctor finds the fault by one of the cases that find it, and leaves nothing behind or says so. */
export async function assertFound({ driver, caughtBy }: DriverFault): Promise<void> {
  const run = new Set(casesOf(undefined, false).map(({ name }) => name));
  const wanted = threadLogCases.filter(({ name }) => caughtBy.includes(name));
  const reachable = wanted.filter(
    ({ name, needs = [] }) => run.has(name) && !needs.some((need) => BEYOND_REACH.has(need)),
  );
  const failed: string[] = [];
  for (const area of new Set(reachable.map((each) => each.area))) {
    const storage = await storageWithThread();
    standIn(driver(storage));
    const { code, stdout, stderr } = await holdfast(["doctor", "sqlite:./a.db", "--quick", "--cases", area, "--json"]);
    // Some are so broken that the store cannot be looked through, which is said as well.
    if (stdout !== "") failed.push(...JSON.parse(stdout).cases.failed.map(({ name }: { name: string }) => name));
    expect(code).toBeGreaterThan(0);
    const all = await threadsIn(storage);
    expect(all).toContain("mine");
    if (all.length > 1) expect(stderr).toContain("doctor --clean");
  }
  if (reachable.length > 0) expect(failed).toEqual(expect.arrayContaining(reachable.map(({ name }) => name)));
}
