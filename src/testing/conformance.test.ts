import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { checkpointerSuite } from "./checkpointer-cases/suite.ts";
import type { ConformanceSuite, Fixture } from "./conformance-case.ts";
import { HOSTILE_IDS, REFUSED_IDS } from "./hostile-ids.ts";
import { KEPT_VALUES, REFUSED_VALUES } from "./hostile-values.ts";
import { type RunningTest, registerSuite } from "./register-suite.ts";
import { runCase } from "./run-case.ts";
import { threadLogSuite } from "./thread-log-cases/suite.ts";

interface Lamp {
  readonly lit: boolean;
  close(): Promise<void>;
}

const never = async (): Promise<void> => undefined;
const dark = (): Lamp => ({ lit: false, close: never });

const lampSuite: ConformanceSuite<Lamp, "reopen"> = {
  title: "lamp",
  offers: (fixture, need) => fixture[need] !== undefined,
  cases: [
    { area: "light", name: "it is dark", run: async ({ subject }) => assert.equal(subject.lit, false) },
    { area: "light", name: "it is lit", run: async ({ subject }) => assert.equal(subject.lit, true, "no light") },
    { area: "light", name: "it opens again", needs: ["reopen"], run: never },
  ],
};

/** A runner that is nothing but a list. */
function collect(suite: ConformanceSuite<Lamp, "reopen">, create: () => Promise<Fixture<Lamp>>, name = "lamp") {
  const tests: { name: string; run: (running: RunningTest) => Promise<void> }[] = [];
  const after: (() => void)[] = [];
  const options = { name, create, afterAll: (run: () => void) => after.push(run) };
  registerSuite(suite, { ...options, test: (title, run) => tests.push({ name: title, run }) });
  return {
    tests,
    finish: () => {
      for (const run of after) run();
    },
  };
}

describe("registering a suite", () => {
  test("makes a test of every case, with whatever runner", async () => {
    const { tests, finish } = collect(lampSuite, async () => ({ subject: dark() }));
    const lines = vi.spyOn(console, "log").mockReturnValue(undefined);
    const skipped: (string | undefined)[] = [];
    const running = { skip: (reason?: string) => skipped.push(reason) };
    expect(tests.map(({ name }) => name)).toEqual([
      "lamp lamp: light: it is dark",
      "lamp lamp: light: it is lit",
      "lamp lamp: light: it opens again",
    ]);
    await tests[0]!.run(running);
    await expect(tests[1]!.run(running)).rejects.toThrow("no light");
    await tests[2]!.run(running);
    expect(skipped).toEqual(["needs reopen"]);
    finish();
    expect(lines.mock.calls).toEqual([
      ["conformance: lamp 2 cases (2 lamp), 1 FAILED, 1 not applicable (needs reopen)"],
    ]);
    lines.mockRestore();
  });

  test("prints one line for a backend, when the last of its suites is done", async () => {
    const lines = vi.spyOn(console, "log").mockReturnValue(undefined);
    const first = collect({ ...lampSuite, title: "first", cases: [lampSuite.cases[0]!] }, async () => ({
      subject: dark(),
    }));
    const second = collect({ ...lampSuite, title: "second", cases: [lampSuite.cases[0]!] }, async () => ({
      subject: dark(),
    }));
    for (const { tests } of [first, second]) await tests[0]!.run({ skip: () => undefined });
    first.finish();
    expect(lines).not.toHaveBeenCalled();
    second.finish();
    expect(lines.mock.calls).toEqual([["conformance: lamp 2 cases (1 first, 1 second), 0 not applicable"]]);
    lines.mockRestore();
  });
});

describe("running a case", () => {
  const [isDark, isLit, opensAgain] = lampSuite.cases;

  test("closes every instance and tidies up, whether it passed or failed", async () => {
    for (const each of [isDark!, isLit!, opensAgain!]) {
      const done: string[] = [];
      const open = (name: string): Lamp => ({
        ...dark(),
        close: async () => {
          done.push(name);
        },
      });
      const create = async (): Promise<Fixture<Lamp>> => ({
        subject: open("first"),
        reopen: async () => open("second"),
        cleanup: async () => {
          done.push("cleanup");
        },
      });
      const opening = {
        ...each,
        run: async (fixture: Fixture<Lamp>) => {
          await fixture.reopen?.();
          await each.run(fixture);
        },
      };
      await runCase(lampSuite, opening, create);
      expect(done).toEqual(["first", "second", "cleanup"]);
    }
  });

  test("fails when something reached the prototypes that all objects share", async () => {
    const polluting = {
      ...isDark!,
      run: async () => Object.assign(Object.prototype, { polluted: true }),
    } as unknown as typeof isDark;
    try {
      const result = await runCase(lampSuite, polluting!, async () => ({ subject: dark() }));
      expect(result.outcome).toBe("failed");
    } finally {
      Reflect.deleteProperty(Object.prototype, "polluted");
    }
  });

  test("fails when the fixture cannot be made or taken away", async () => {
    const unmade = await runCase(lampSuite, isDark!, () => Promise.reject(new Error("no room")));
    expect(unmade).toMatchObject({ outcome: "failed", error: { message: "no room" } });
    const cleanup = () => Promise.reject(new Error("stuck"));
    const stuck = await runCase(lampSuite, isDark!, async () => ({ subject: dark(), cleanup }));
    expect(stuck).toMatchObject({ outcome: "failed", error: { message: "stuck" } });
  });
});

test("no two cases of a suite have the same name", () => {
  for (const { cases } of [threadLogSuite, checkpointerSuite] as const) {
    const names = cases.map(({ area, name }) => `${area}: ${name}`);
    expect(names).toEqual([...new Set(names)]);
  }
});

test("the hostile ids are all different, and within what every backend takes", () => {
  expect(HOSTILE_IDS).toEqual([...new Set(HOSTILE_IDS)]);
  const bytes = HOSTILE_IDS.map((id) => Buffer.byteLength(id));
  expect([Math.min(...bytes), Math.max(...bytes)]).toEqual([1, 1024]);
  expect(HOSTILE_IDS.filter((id) => !id.isWellFormed())).toEqual([]);
  expect(REFUSED_IDS.filter(({ id }) => HOSTILE_IDS.includes(id as string))).toEqual([]);
});

test("the hostile values are all named differently", () => {
  const names = [...KEPT_VALUES, ...REFUSED_VALUES].map(({ what }) => what);
  expect(names).toEqual([...new Set(names)]);
});

test("the suites run under node:test as they do under vitest", async () => {
  const program = `
    import { after, test } from "node:test";
    import { testThreadLog } from ${JSON.stringify(new URL("../entry/conformance.ts", import.meta.url).href)};
    import { MemoryLog } from ${JSON.stringify(new URL("../backends/memory/log.ts", import.meta.url).href)};
    testThreadLog({ name: "memory", test, afterAll: after, create: async () => ({ subject: new MemoryLog() }) });
  `;
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  const env = { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: undefined, VITEST: undefined };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1 << 24 }).catch(
    (error) => error,
  );
  const applicable = threadLogSuite.cases.length - Number(/(\d+) not applicable/.exec(stdout)?.[1]);
  expect(stdout).toContain(`conformance: memory ${applicable} cases (${applicable} log)`);
  expect(stdout).not.toMatch(/\d+ FAILED/);
});
