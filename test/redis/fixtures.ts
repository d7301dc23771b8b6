import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { describe, test } from "vitest";
import type { RedisClient, RedisLibrary } from "../../src/backends/redis/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { findRedis, HOW_TO_GET_REDIS } from "../services/redis.ts";
import { isWanted, NOT_WANTED, requiredServices } from "../services/services.ts";
import { fromWide } from "../wide/installed.ts";

export const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

export const freshPrefix = (): string => `test-${randomBytes(6).toString("hex")}:`;

/** For tests that need an answer: a server whose disk stalls answers later than the default of two seconds. */
export const PATIENT = { connectTimeoutMs: 60_000, commandTimeoutMs: 60_000 } as const;

/** One kind of client that users hand in. */
export interface ClientKind {
  readonly name: string;
  /** What opens a URL with it; an older version can only be handed in. */
  readonly library?: RedisLibrary;
  readonly make: (url: string) => RedisClient;
  readonly makeCluster: (url: string) => RedisClient;
}

interface InstalledKind extends ClientKind {
  readonly library: RedisLibrary;
}

export const IOREDIS: InstalledKind = {
  name: "ioredis",
  library: "ioredis",
  make: (url) => new Redis(url, { lazyConnect: true }),
  makeCluster: (url) => new Cluster([url], { lazyConnect: true, redisOptions: { password: new URL(url).password } }),
};

export const NODE_REDIS: InstalledKind = {
  name: "node-redis",
  library: "redis",
  make: (url) => createClient({ url }),
  makeCluster: (url) => createCluster({ rootNodes: [{ url }], defaults: { password: new URL(url).password } }),
};

/** The lower ends of the ranges in src/backends/registry.ts, where the packages of test/wide are installed. */
export const OLDEST_CLIENT_KINDS: readonly ClientKind[] = await fromWide<readonly ClientKind[]>(
  "oldest-redis.ts",
  "OLDEST_CLIENT_KINDS",
  [],
);

export const CLIENT_KINDS: readonly ClientKind[] = [IOREDIS, NODE_REDIS, ...OLDEST_CLIENT_KINDS];

export async function endClient(client: RedisClient): Promise<void> {
  if (!("destroy" in client)) client.disconnect();
  else if (client.isOpen) await client.destroy();
}

/** Takes away everything under a prefix: what a suite leaves would be in the next one's way. */
export async function clearPrefix(admin: Redis, prefix: string): Promise<void> {
  for await (const keys of admin.scanStream({ match: `${prefix}*`, count: 1000 })) {
    if ((keys as string[]).length > 0) await admin.unlink(...(keys as string[]));
  }
}

/** Copies every key under a prefix; what it returns puts the copies back, as a replica does that was behind and is promoted. */
export async function copyKeys(admin: Redis, prefix: string): Promise<() => Promise<void>> {
  const keys = await admin.keys(`${prefix}*`);
  const kept = await Promise.all(keys.map((key) => admin.dumpBuffer(key)));
  return async () => {
    await clearPrefix(admin, prefix);
    for (const [index, key] of keys.entries()) await admin.restore(key, 0, kept[index] ?? "");
  };
}

/** A user with exactly the rights that docs/redis.md names, to show that they are enough. */
export async function makeUser(admin: Redis, url: string, prefix: string): Promise<{ user: string; url: string }> {
  const page = await readFile(new URL("../../docs/redis.md", import.meta.url), "utf8");
  const rules = /^ACL SETUSER holdfast on >\S+ ~holdfast:\* (.*)$/m.exec(page)?.[1]?.split(" ");
  if (rules === undefined) throw new Error("docs/redis.md names no rights");
  const [user, password] = [`user-${prefix.replace(":", "")}`, randomBytes(9).toString("hex")];
  await admin.call("ACL", ["SETUSER", user, "on", `>${password}`, `~${prefix}*`, ...rules]);
  const place = new URL(url);
  [place.username, place.password] = [user, password];
  return { user, url: place.href };
}

/**
 * For suites that kill a server, fill it or change its settings: one that no other suite
 * shares.
 */
export async function describeWithOwnRedis(title: string, body: () => void | Promise<void>): Promise<void> {
  if (!isWanted("redis")) return void describe.skip(title, () => test(NOT_WANTED, () => undefined));
  if ((await findRedis()) !== undefined) return void describe(title, body);
  if (requiredServices().includes("redis")) throw new Error(`there is no Redis to start here: ${HOW_TO_GET_REDIS}`);
  describe.skip(title, () => test(`skipped: ${HOW_TO_GET_REDIS}`, () => undefined));
}
