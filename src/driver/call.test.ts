import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import type { ThreadLog } from "../checkpoint/log/thread-log.ts";
import { type ErrorCode, StateError } from "../errors.ts";
import { asStateError, callDriver, policyFor } from "./call.ts";

const driver = (code: ErrorCode | undefined): ThreadLog => Object.assign(new MemoryLog(), { classify: () => code });
const place = { operation: "load", threadId: "t1" };
const soon = { attempts: 4, baseDelayMs: 1 };

describe("calling a driver", () => {
  test("hands back what it gives, and calls it once", async () => {
    let calls = 0;
    expect(await callDriver(driver(undefined), soon, place, async () => ++calls)).toBe(1);
    expect(calls).toBe(1);
  });

  test.each(["UNAVAILABLE", "TIMEOUT", "RATE_LIMITED"] as const)("tries again after %s", async (code) => {
    let calls = 0;
    const work = async (): Promise<string> => {
      if (++calls < 4) throw new Error("not yet");
      return "done";
    };
    expect(await callDriver(driver(code), soon, place, work)).toBe("done");
    expect(calls).toBe(4);
  });

  test("reports every failed attempt, the last one and those that were retried", async () => {
    let calls = 0;
    const failures: string[] = [];
    const work = (): Promise<never> => Promise.reject(new Error(`failure ${++calls}`));
    const failed = (error: unknown): void => void failures.push(String(error));
    const policy = { attempts: 3, baseDelayMs: 1 };
    await failureOf(() => callDriver(driver("UNAVAILABLE"), policy, place, work, undefined, failed));
    expect(failures).toEqual(["Error: failure 1", "Error: failure 2", "Error: failure 3"]);
  });

  test("gives up after as many attempts as it was given", async () => {
    let calls = 0;
    const work = (): Promise<never> => Promise.reject(new Error(`failure ${++calls}`));
    const failure = await failureOf(() =>
      callDriver(driver("UNAVAILABLE"), { attempts: 3, baseDelayMs: 1 }, place, work),
    );
    expect(calls).toBe(3);
    expect(failure.message).toBe('memory: load failed for thread "t1": failure 3');
  });

  test.each(["CONFLICT", "CORRUPT", "PERMISSION_DENIED", "STORAGE_FULL", undefined] as const)(
    "does not try again after %s",
    async (code) => {
      let calls = 0;
      const work = (): Promise<never> => Promise.reject(new Error(`failure ${++calls}`));
      const failure = await failureOf(() => callDriver(driver(code), soon, place, work));
      expect([calls, failure.code]).toEqual([1, code ?? "UNKNOWN"]);
    },
  );
});

describe("how long a call is repeated", () => {
  const failing = (): Promise<never> => Promise.reject(new Error("down"));
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await failureOf(work);
    return performance.now() - began;
  };

  test("until the storage was reached: four times, which is over at once", async () => {
    expect(policyFor({}, false)).toEqual({ attempts: 4, baseDelayMs: 50 });
    const policy = policyFor({ forMs: 60_000 }, false);
    expect(await timed(() => callDriver(driver("UNAVAILABLE"), policy, place, failing))).toBeLessThan(20_000);
  });

  test("after that: for five seconds, or as was asked", () => {
    expect(policyFor({}, true)).toEqual({ attempts: Number.POSITIVE_INFINITY, forMs: 5_000, baseDelayMs: 50 });
    expect(policyFor({ forMs: 100 }, true)).toMatchObject({ forMs: 100 });
    expect(policyFor({ attempts: 2 }, true)).toMatchObject({ attempts: 2, forMs: Number.POSITIVE_INFINITY });
  });

  test("no attempt begins after the time is over", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const policy = policyFor({ forMs: 300, baseDelayMs: 10 }, true);
    const [began, attempts] = [performance.now(), [] as number[]];
    const failed = failureOf(() =>
      callDriver(driver("TIMEOUT"), policy, place, () => {
        attempts.push(performance.now() - began);
        return failing();
      }),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    await failed;
    expect(attempts.length).toBeGreaterThan(4);
    expect(Math.max(...attempts)).toBeLessThanOrEqual(300);
  });

  test("not after the checkpointer was closed", async () => {
    const closing = new AbortController();
    setTimeout(() => closing.abort(), 20);
    const policy = policyFor({ forMs: 60_000, baseDelayMs: 30_000 }, true);
    const took = await timed(() => callDriver(driver("TIMEOUT"), policy, place, failing, closing.signal));
    expect(took).toBeLessThan(10_000);
  });
});

describe("what a client throws", () => {
  test("becomes one StateError: where, what, which, and why", () => {
    const error = asStateError(driver("PERMISSION_DENIED"), place, new Error("NOAUTH Authentication required."));
    expect(error.message).toBe('memory: load failed for thread "t1": NOAUTH Authentication required.');
    expect(error).toMatchObject({
      code: "PERMISSION_DENIED",
      retryable: false,
      context: { backend: "memory", operation: "load", threadId: "t1" },
    });
  });

  test("names no thread where there is none", () => {
    expect(asStateError(driver(undefined), { operation: "listThreads" }, new Error("x")).message).toBe(
      "memory: listThreads failed: x",
    );
  });

  test("quotes a thread id that would mislead", () => {
    const misleading = { operation: "load", threadId: 'a": ok\u2028' };
    expect(asStateError(driver(undefined), misleading, new Error("x")).message).toContain('for thread "a\\": ok');
  });

  test.each([undefined, null, "text", 5, { reason: "object" }, Symbol("s")])("may be no Error at all: %o", (thrown) => {
    expect(asStateError(driver(undefined), place, thrown)).toMatchObject({ code: "UNKNOWN" });
  });

  test("keeps the client's error below it, with its code", () => {
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    expect(asStateError(driver("UNAVAILABLE"), place, cause).cause).toMatchObject({
      message: "refused",
      code: "ECONNREFUSED",
    });
  });

  test("that is a StateError already is told where it happened, once", () => {
    const inner = new StateError("CORRUPT", "record 3 is damaged", { location: "record 3" });
    const once = asStateError(driver(undefined), place, inner);
    expect(once.message).toBe('memory: load failed for thread "t1": record 3 is damaged');
    expect(once.context).toEqual({ location: "record 3", backend: "memory", operation: "load", threadId: "t1" });
    expect(asStateError(driver(undefined), place, once)).toBe(once);
  });
});
