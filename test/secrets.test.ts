import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { openCheckpointer } from "../src/backends/open.ts";
import { assertCheckpointer } from "../src/checkpoint/assert-checkpointer.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { asStateError } from "../src/driver/call.ts";
import { StateError } from "../src/errors.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { failureOf } from "./failure-of.ts";

/** Made of words that occur nowhere else, so that a leak of any part shows. */
const SECRETS: readonly string[] = [
  "zebra7",
  "zebra@quokka",
  "zebra:quokka",
  "zebra/quokka",
  "zebra%quokka",
  "zebra quokka",
  "zebra@quokka:lemur/okapi%ibex gnu7",
  "zebra$&quokka",
  "zebra#quokka?lemur",
];

const partsOf = (secret: string): string[] => secret.split(/[^a-z0-9]+/i).filter((part) => part.length > 2);

/** Everything of an error that a program may print. */
function everythingOf(error: unknown): string {
  const texts = [inspect(error, { depth: 12, showHidden: true }), JSON.stringify(error), String(error)];
  for (let at = error; at instanceof Error; at = at.cause) {
    texts.push(at.message, at.stack ?? "", JSON.stringify(at), JSON.stringify(Object.getOwnPropertyDescriptors(at)));
  }
  return texts.join("\n");
}

function expectNoLeak(error: unknown, secret: string): void {
  const text = everythingOf(error);
  const leaked = [secret, encodeURIComponent(secret), ...partsOf(secret)].filter((part) => text.includes(part));
  expect(leaked, String(error)).toEqual([]);
}

/** What clients throw, with the secret where each of them puts it. */
const CLIENT_ERRORS: readonly [what: string, make: (secret: string) => unknown][] = [
  [
    "a connection string in the message",
    (secret) => new Error(`connect ECONNREFUSED postgres://app:${secret}@db:5432/x`),
  ],
  ["one without a user", (secret) => new Error(`redis://:${secret}@cache:6379 is down`)],
  ["one that is percent-encoded", (secret) => new Error(`mysql://root:${encodeURIComponent(secret)}@h/db is down`)],
  ["one in quotes", (secret) => new Error(`invalid dsn "postgresql://app:${secret}@db/x?sslmode=require"`)],
  ["one across a cause", (secret) => new Error("failed", { cause: new Error(`postgres://a:${secret}@h/x`) })],
  ["one as the cause", (secret) => new Error("failed", { cause: `postgres://a:${secret}@h/x` })],
  ["options beside the message", (secret) => Object.assign(new Error("failed"), { options: { password: secret } })],
  [
    "a request with headers",
    (secret) => Object.assign(new Error("401"), { request: { headers: { authorization: `Bearer ${secret}` } } }),
  ],
  ["a config as text", (secret) => Object.assign(new Error("failed"), { toJSON: () => ({ password: secret }) })],
  ["several errors in one", (secret) => new AggregateError([new Error(`postgres://a:${secret}@h`)], "all failed")],
  ["a plain object", (secret) => ({ message: "failed", password: secret })],
  ["text", (secret) => `postgres://a:${secret}@h is down`],
];

/** The shapes in which a secret stands behind its name. */
const NAMED: readonly ((secret: string) => string)[] = [
  (secret) => `password=${secret}`,
  (secret) => `PGPASSWORD=${secret}`,
  (secret) => `{"user":"app","password":"${secret}"}`,
  (secret) => `client_secret: '${secret}'`,
  (secret) => `x-api-key: ${secret}`,
  (secret) => `Authorization: Bearer ${secret}`,
  (secret) => `GET /threads?access_token=${secret}&limit=1`,
];

const log = new MemoryLog();
const place = { operation: "load", threadId: "t" };

describe("no secret of a client's error is in ours", () => {
  describe.each(CLIENT_ERRORS)("%s", (_, make) => {
    test.each(SECRETS)("%s", (secret) => {
      expectNoLeak(asStateError(log, place, make(secret)), secret);
    });
  });

  test.each(NAMED.map((shape) => [shape("zebra7quokka"), shape] as const))("%s", (_, shape) => {
    expectNoLeak(asStateError(log, place, new Error(shape("zebra7quokka"))), "zebra7quokka");
  });

  test("and what is no secret stays readable", () => {
    const failure = asStateError(log, place, new Error("connect ECONNREFUSED postgres://app:zebra7@db:5432/agents"));
    expect(failure.message).toBe(
      'memory: load failed for thread "t": connect ECONNREFUSED postgres://app:***@db:5432/agents',
    );
  });
});

describe("no secret is in a StateError that a driver throws itself", () => {
  test.each(SECRETS)("%s", (secret) => {
    const cause = Object.assign(new Error(`postgres://app:${secret}@db`), { config: { password: secret } });
    const thrown = new StateError("UNAVAILABLE", `cannot reach postgres://app:${secret}@db`, { cause });
    expectNoLeak(asStateError(log, place, thrown), secret);
  });
});

describe("no secret comes out of any method of a checkpointer whose driver fails", () => {
  const secret = "zebra@quokka";
  const failing = new Proxy(log, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || name === "classify" || name === "close") return value;
      return () => Promise.reject(new Error(`redis://:${secret}@cache:6379 went away`));
    },
  });
  const checkpointer = new Checkpointer(failing, { retry: { attempts: 1 } });
  const state = AgentState.create();
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    save: () => checkpointer.save(state, "t"),
    "save under a name": () => checkpointer.save(state, "t", { expectedHead: "c", checkpointId: "c" }),
    load: () => checkpointer.load("t"),
    "load by name": () => checkpointer.load("t", { checkpointId: "c" }),
    exists: () => checkpointer.exists("t"),
    listCheckpoints: () => checkpointer.listCheckpoints("t"),
    delete: () => checkpointer.delete("t"),
    "delete of a checkpoint": () => checkpointer.delete("t", { checkpointId: "c" }),
    search: () => checkpointer.search("a"),
    queryByMetadata: () => checkpointer.queryByMetadata("k", 1),
    getMetadata: () => checkpointer.getMetadata("t"),
    vacuum: () => checkpointer.vacuum({ keepLast: 1 }),
    copyThread: () => checkpointer.copyThread("a", "b"),
    fork: () => checkpointer.fork("a", "b"),
    lineage: () => checkpointer.lineage("t"),
    listThreads: () => checkpointer.listThreads(),
    listWithMetadata: () => checkpointer.listWithMetadata(),
    stats: () => checkpointer.stats("t"),
    withLease: () => checkpointer.withLease("t", async () => undefined),
    history: () => checkpointer.history("t").next(),
    diff: () => checkpointer.diff("t", "a", "b"),
  };
  test.each(Object.entries(calls))("%s", async (_, call) => {
    const failure = await failureOf(call);
    expect(failure.message).toContain("went away");
    expectNoLeak(failure, secret);
  });
});

describe("no secret of a URL comes out of opening it", () => {
  const urls: readonly ((secret: string) => string)[] = [
    (secret) => `nosuch://app:${secret}@db:5432/agents`,
    (secret) => `nosuch+tls://:${secret}@cache`,
    (secret) => `NOSUCH://app:${encodeURIComponent(secret)}@db`,
    (secret) => `//app:${secret}@db/agents`,
    (secret) => `app:${secret}@db`,
  ];
  test.each(SECRETS)("%s", async (secret) => {
    for (const url of urls) expectNoLeak(await failureOf(() => openCheckpointer(url(secret))), secret);
  });

  test("nor of a parameter that a backend does not know", async () => {
    for (const url of [
      "sqlite:./never-made.db?password=zebra7quokka",
      "memory:?token=zebra7quokka",
      "file:./x?api_key=zebra7quokka",
    ]) {
      expectNoLeak(await failureOf(() => openCheckpointer(url)), "zebra7quokka");
    }
  });

  test("nor of passing a URL where a checkpointer belongs", () => {
    const thrown = vi.fn(() => assertCheckpointer("redis://:zebra@cache", "new Agent()"));
    expect(thrown).toThrow(TypeError);
    expectNoLeak(thrown.mock.results[0]!.value, "zebra");
  });
});
