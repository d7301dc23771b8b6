import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { Client } from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startOpensearch } from "./opensearch.ts";
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";
import { freePort, type TestServer } from "./server-process.ts";
import { requiredServices, SERVICES, type ServiceName } from "./services.ts";
import { describeWithService } from "./with-service.ts";

async function sql(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows[0];
  } finally {
    await client.end();
  }
}

async function redis(url: string, command: string, ...words: readonly string[]): Promise<unknown> {
  const client = new Redis(url);
  try {
    return await client.call(command, ...words);
  } finally {
    client.disconnect();
  }
}

async function opensearch(url: string, path: string, document?: object): Promise<Record<string, unknown>> {
  const body = document && { method: "PUT", body: JSON.stringify(document) };
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url.replace("opensearch+", "")}${path}`, { headers, ...body });
  return (await response.json()) as Record<string, unknown>;
}

async function runs(server: TestServer): Promise<boolean> {
  const pid = Number(await readFile(join(server.folder, "server.pid"), "utf8").catch(() => "0"));
  return pid !== 0 && isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

await describeWithService("postgres", (url) => {
  test("a suite is given a real PostgreSQL that syncs what it commits", async () => {
    expect(await sql(url, "SHOW fsync")).toEqual({ fsync: "on" });
  });

  test("a private one keeps what it committed when it is killed, and is gone when it is stopped", async () => {
    const server = await startPostgres({ settings: { work_mem: "7MB" } });
    onTestFinished(() => server.stop());
    expect(await sql(server.url, "SHOW work_mem")).toEqual({ work_mem: "7MB" });
    await sql(server.url, "CREATE TABLE t AS SELECT 42 AS n");
    await server.kill();
    expect(await runs(server)).toBe(false);
    await expect(sql(server.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await server.restart();
    expect(await sql(server.url, "SELECT n FROM t")).toEqual({ n: 42 });
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });

  goneWithItsOwner("postgres");
});

await describeWithService("redis", (url) => {
  test("a suite is given a real Redis", async () => {
    expect(await redis(url, "PING")).toBe("PONG");
  });

  test("a private one keeps what it synced when it is killed, and is gone when it is stopped", async () => {
    const server = await startRedis({ settings: { maxmemory: "64mb" } });
    onTestFinished(() => server.stop());
    expect(await redis(server.url, "CONFIG", "GET", "maxmemory")).toEqual(["maxmemory", String(64 * 2 ** 20)]);
    await redis(server.url, "SET", "n", "42");
    await server.kill();
    expect(await runs(server)).toBe(false);
    await server.restart();
    expect(await redis(server.url, "GET", "n")).toBe("42");
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });

  goneWithItsOwner("redis");
});

await describeWithService("opensearch", (url) => {
  test("a suite is given a real OpenSearch", async () => {
    expect(await opensearch(url, "/")).toMatchObject({ version: { distribution: "opensearch" } });
  });

  test("a private one keeps what it answered when it is killed, and is gone when it is stopped", async () => {
    const server = await startOpensearch();
    onTestFinished(() => server.stop());
    await opensearch(server.url, "/t/_doc/1", { n: 42 });
    await server.kill();
    expect(await runs(server)).toBe(false);
    await expect(opensearch(server.url, "/t/_doc/1")).rejects.toThrow("fetch failed");
    await server.restart();
    expect(await opensearch(server.url, "/t/_doc/1")).toMatchObject({ _source: { n: 42 } });
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });

  goneWithItsOwner("opensearch");
});

describe("HOLDFAST_TEST_REQUIRE", () => {
  test("names services that exist; another name is an error and not a silent nothing", () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("HOLDFAST_TEST_REQUIRE", "postgres, redis");
    expect(requiredServices()).toEqual(["postgres", "redis"]);
    vi.stubEnv("HOLDFAST_TEST_REQUIRE", "postgres,chromium");
    expect(requiredServices()).toEqual(["postgres"]);
    vi.stubEnv("HOLDFAST_TEST_REQUIRE", "postgres,rediss");
    expect(requiredServices).toThrow(`names "rediss"; there are ${Object.keys(SERVICES).join(", ")}`);
  });
});

function goneWithItsOwner(name: ServiceName): void {
  test(`a process that is killed takes its ${name} with it, and the folder`, async () => {
    const owner = spawn(process.execPath, ["--import", "tsx", "-e", ownerProgram(name)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void owner.kill("SIGKILL"));
    const folder = await firstLine(owner);
    const pid = Number(await readFile(join(folder, "server.pid"), "utf8"));
    expect(isAlive(pid)).toBe(true);
    owner.kill("SIGKILL");
    await vi.waitUntil(() => !isAlive(pid) && !existsSync(folder), { timeout: 60_000 });
  });
}

function ownerProgram(name: ServiceName): string {
  const table = fileURLToPath(new URL("services.ts", import.meta.url));
  return `import(${JSON.stringify(table)}).then(async ({ SERVICES }) => {
    console.log((await SERVICES.${name}.start()).folder);
    setInterval(() => undefined, 1000);
  });`;
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  while (!text.includes("\n")) text += String((await once(child.stdout!, "data"))[0]);
  return text.trim();
}

test("no port is given out twice, however many are asked for at once", async () => {
  const ports = await Promise.all(Array.from({ length: 1000 }, freePort));
  expect(new Set(ports).size).toBe(ports.length);
});
