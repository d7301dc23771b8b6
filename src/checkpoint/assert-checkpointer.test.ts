import { describe, expect, test } from "vitest";
import { MapStorage } from "../../test/dict-storages.ts";
import { MemoryCheckpointer } from "../backends/memory/index.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import { openDatabase } from "../backends/sqlite/open-file.ts";
import { AgentState } from "../state/agent-state.ts";
import { assertCheckpointer } from "./assert-checkpointer.ts";
import { BaseCheckpointer } from "./base-checkpointer.ts";
import { capabilities } from "./capabilities.ts";
import { Checkpointer } from "./checkpointer.ts";
import { StorageBackendAdapter } from "./dict/adapter.ts";

const refusalOf = (value: unknown): string => {
  try {
    assertCheckpointer(value, "Agent({ checkpointer })");
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as Error).message;
  }
  return "accepted";
};

/** An object with methods of these names, as clients have them: on the prototype of a class. */
function clientWith(methods: readonly string[], properties: object = {}): object {
  class Client {}
  for (const name of methods) Object.defineProperty(Client.prototype, name, { value: async () => undefined });
  return Object.assign(new Client(), properties);
}

class Own extends BaseCheckpointer {
  readonly capabilities = capabilities({});
  async save(_state: AgentState, _threadId: string): Promise<string> {
    return "id";
  }
  async load(): Promise<undefined> {
    return undefined;
  }
  async listCheckpoints(): Promise<[]> {
    return [];
  }
  async delete(): Promise<boolean> {
    return false;
  }
}

describe("what is accepted", () => {
  test("every kind of checkpointer is", () => {
    const all = [
      new MemoryCheckpointer(),
      new Checkpointer(new MemoryLog()),
      new StorageBackendAdapter(new MapStorage()),
      new Own(),
    ];
    for (const checkpointer of all) expect(refusalOf(checkpointer)).toBe("accepted");
  });

  test("a value that passed is a BaseCheckpointer to the compiler", async () => {
    const value: unknown = new MemoryCheckpointer();
    assertCheckpointer(value, "here");
    expect(await value.load("t")).toBeUndefined();
  });
});

describe("what is refused, and what to write instead", () => {
  test("the place is named first", () => {
    expect(refusalOf(undefined)).toMatch(/^Agent\(\{ checkpointer \}\) takes a checkpointer, not undefined\. /);
    expect(refusalOf(null)).toContain("not null");
  });

  test("a string may be a URL, and is not shown", () => {
    const refusal = refusalOf("postgres://user:hunter2@host/db");
    expect(refusal).toContain("await openCheckpointer(url)");
    expect(refusal).not.toContain("hunter2");
  });

  test("a class was not constructed", () => {
    expect(refusalOf(MemoryCheckpointer)).toContain(
      "the class MemoryCheckpointer. Construct it: new MemoryCheckpointer(…)",
    );
    expect(refusalOf(class {})).toContain("a class. Construct it: new …(…)");
  });

  test("a factory was not called", () => {
    expect(refusalOf(sqliteCheckpointer)).toContain("the function sqliteCheckpointer. Call it: sqliteCheckpointer(…)");
    expect(refusalOf(() => new MemoryCheckpointer())).toContain("Call it: …(…)");
  });

  test("a promise was not awaited", () => {
    expect(refusalOf(Promise.resolve(new MemoryCheckpointer()))).toContain("a promise. Write await before it");
  });

  test("a driver is wrapped by Checkpointer", () => {
    expect(refusalOf(new MemoryLog())).toContain("a ThreadLog driver. Wrap it: new Checkpointer(log)");
  });

  test("a dict-shaped storage is wrapped by StorageBackendAdapter", () => {
    expect(refusalOf(new MapStorage())).toContain("Wrap it: new StorageBackendAdapter(storage)");
    expect(refusalOf({ save: () => 1, load: () => 1, delete: () => 1 })).toContain("StorageBackendAdapter");
  });

  test("an object that has the methods must extend BaseCheckpointer", () => {
    const lookalike = { save: () => 1, load: () => 1, listCheckpoints: () => [], delete: () => false };
    expect(refusalOf(lookalike)).toContain("extend BaseCheckpointer");
  });

  test("a SQLite database goes to sqliteCheckpointer", async () => {
    const database = await openDatabase(":memory:");
    expect(refusalOf(database)).toContain("a SQLite database. Use sqliteCheckpointer({ database })");
    database.close();
  });

  test.each([
    ["ioredis", ["get", "set", "hset", "save", "xadd", "duplicate"], {}, "Use redisCheckpointer({ client })"],
    ["node-redis", ["get", "set", "hSet", "save", "sendCommand"], {}, "Use redisCheckpointer({ client })"],
    ["pg Pool", ["query", "connect", "end", "on"], { totalCount: 0 }, "Use postgresqlCheckpointer({ pool })"],
    ["pg Client", ["query", "connect", "end"], {}, "Use postgresqlCheckpointer({ pool })"],
    ["OpenSearch", ["search", "bulk", "index", "close"], { indices: {} }, "Use opensearchCheckpointer({ client })"],
    [
      "mysql2 Pool",
      ["query", "connect", "end", "getConnection"],
      {},
      "an object of class Client. Make one with a factory",
    ],
    ["OCI", ["putObject", "getObject", "getNamespace", "close"], {}, "Use ociBucketCheckpointer({ client })"],
  ])("a client in the shape of %s goes to its factory, where there is one", (_name, methods, properties, instead) => {
    expect(refusalOf(clientWith(methods, properties))).toContain(instead);
  });

  test("plain options belong into a factory, which the options give away", () => {
    expect(refusalOf({ path: "agents.db" })).toContain("plain options. Did you mean sqliteCheckpointer({ … })?");
    expect(refusalOf({ directory: "./threads" })).toContain("Did you mean new FileCheckpointer({ directory })?");
    expect(refusalOf({ url: "redis://user:hunter2@host" })).toMatch(/Did you mean await openCheckpointer\(url\)\?$/);
    expect(refusalOf({ bucketName: "b", namespace: "n" })).toMatch(
      /ociBucketCheckpointer\(.* or s3BucketCheckpointer\(/,
    );
    expect(refusalOf({ dsn: "x" })).toContain("Did you mean postgresqlCheckpointer({ dsn })?");
    expect(refusalOf(Object.create(null))).toContain("plain options");
  });

  test("anything else is named by its class or type", () => {
    expect(refusalOf(new Map())).toContain("an object of class Map. Make one with a factory");
    expect(refusalOf(AgentState.create())).toContain("an object of class AgentState");
    expect(refusalOf(42)).toContain("not a number");
    expect(refusalOf(Object.create(Object.create(null)))).toContain("a class without a name");
  });
});

test("a raw storage does not compile where a checkpointer belongs", () => {
  const takes = (checkpointer: BaseCheckpointer): string => refusalOf(checkpointer);
  // @ts-expect-error a storage has save(key, data), not save(state, threadId)
  expect(takes(new MapStorage())).toContain("StorageBackendAdapter");
  // @ts-expect-error a driver is not what users hold
  expect(takes(new MemoryLog())).toContain("new Checkpointer(log)");
  // @ts-expect-error the same methods are not enough: only BaseCheckpointer's own descendants are checkpointers
  expect(takes({ ...new Own(), save: async () => "", load: async () => undefined })).not.toBe("accepted");
});
