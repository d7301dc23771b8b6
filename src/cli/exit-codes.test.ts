import { afterEach, expect, test, vi } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { filledStore } from "../../test/cli/filled-stores.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import { BACKENDS } from "../backends/registry.ts";
import { Checkpointer } from "../checkpoint/checkpointer.ts";
import { ERROR_CODES, type ErrorCode, StateError } from "../errors.ts";
import { Ended } from "./world.ts";

/** A store whose every listing fails so. */
class FailingLog extends MemoryLog {
  readonly #error: () => Error;

  constructor(error: () => Error) {
    super();
    this.#error = error;
  }

  override async listThreads(): Promise<never> {
    throw this.#error();
  }
}

afterEach(() => vi.restoreAllMocks());

function failWith(error: () => Error): void {
  const openUrl = () => new Checkpointer(new FailingLog(error), { retry: { attempts: 1 } });
  vi.spyOn(BACKENDS["memory"] as { load: () => Promise<unknown> }, "load").mockResolvedValue({ openUrl });
}

const WANTED: Readonly<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 2,
  NOT_FOUND: 4,
  CONFLICT: 5,
  HELD: 7,
  PENDING: 5,
  CORRUPT: 6,
  PERMISSION_DENIED: 7,
  UNAVAILABLE: 8,
  TIMEOUT: 8,
  RATE_LIMITED: 8,
  UNSUPPORTED: 9,
  MISSING_DEPENDENCY: 9,
  INCOMPATIBLE: 9,
  STORAGE_FULL: 10,
  TOO_LARGE: 10,
  CLOSED: 12,
  MODEL_FAILED: 12,
  UNKNOWN: 12,
};

test.each(Object.keys(ERROR_CODES) as ErrorCode[])(
  "%s has its exit code, and is JSON on stderr where JSON was asked for",
  async (code) => {
    failWith(() => new StateError(code, "it went wrong"));
    const plain = await holdfast(["threads", "memory:"]);
    expect([plain.code, plain.stdout]).toEqual([WANTED[code], ""]);
    expect(plain.stderr).toMatch(/^holdfast: .*it went wrong/);
    const json = await holdfast(["threads", "memory:", "--json"]);
    expect([json.code, json.stdout]).toEqual([WANTED[code], ""]);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code, retryable: ERROR_CODES[code].retryable } });
  },
);

test("a missing package comes with the line that brings it", async () => {
  failWith(() => new StateError("MISSING_DEPENDENCY", 'the package "pg" is needed here: npm install "pg@^8.11"'));
  expect((await holdfast(["threads", "memory:"])).stderr).toContain('npx -p holdfast -p "pg@^8.11" holdfast');
});

test("no secret of a URL is in any output, also with --debug and when a client repeats it", async () => {
  const url = "http://:tok%2Fen-s3cret@127.0.0.1:1/";
  for (const argv of [[url], [url, "--debug"], [url, "--json"], ["env:URL"], ["env:URL", "--debug"]]) {
    const { code, stdout, stderr } = await holdfast(["threads", ...argv], { env: { URL: url } });
    expect(code).toBe(8);
    expect(`${stdout}${stderr}`).not.toMatch(/s3cret/);
  }
  failWith(() => new Error("cannot reach redis://u:s3cret@h"));
  expect((await holdfast(["threads", "memory:", "--debug"])).stderr).not.toContain("s3cret");
});

test("no answer with --exit-code is 1, and no terminal to ask at is 11", async () => {
  const store = await filledStore("one");
  try {
    expect((await holdfast(["threads", store.url, "no-*", "--exit-code"])).code).toBe(1);
    expect((await holdfast(["diff", store.url, "trip-1", "@-1", "@0", "--exit-code"])).code).toBe(1);
    expect((await holdfast(["diff", store.url, "trip-1", "@0", "@0", "--exit-code"])).code).toBe(0);
    expect((await holdfast(["delete", store.url, "trip-1"])).code).toBe(11);
    expect(
      (await holdfast(["delete", store.url, "trip-1"], { terminal: true, env: { CI: "1" }, typed: "trip-1" })).code,
    ).toBe(11);
    expect((await holdfast(["delete", store.url, "trip-1"], { terminal: true, typed: "trip-2" })).code).toBe(11);
    expect((await holdfast(["show", store.url, "trip-1"])).code).toBe(0);
  } finally {
    await store.dispose();
  }
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["closed pipe", 0],
] as const)("a command that %s ended has the exit code %i and no complaint", async (by, wanted) => {
  const store = await filledStore("one");
  const ending = new AbortController();
  try {
    const onOutput = () => ending.abort(new Ended(by));
    const { code, stderr } = await holdfast(["tail", "-f", store.url, "trip-1"], { signal: ending.signal, onOutput });
    expect([code, stderr]).toEqual([wanted, ""]);
  } finally {
    await store.dispose();
  }
});
