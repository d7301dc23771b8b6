import type { Durability } from "../../driver/durability.ts";
import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import { type Send, within } from "./port.ts";

/** HELLO needs no permission. A server that does not know it is older than the clusters we support. */
export async function isClusterNode(send: Send): Promise<boolean> {
  const hello = await answered(send(["HELLO"]));
  return pairs(hello).get("mode") === "cluster";
}

const WEAKEST_FIRST: readonly Durability[] = ["memory", "os", "fsync"];

/**
 * The durability of an acknowledged write, by the servers' configuration. A thread
 * may be on any of them, so the weakest counts. If a server may not be asked
 * (managed services disable CONFIG, and some INFO), the lowest is assumed; likewise
 * if one of several does not answer, so that it does not keep us from the others.
 */
export async function durabilityOf(servers: readonly Send[], timeoutMs: number): Promise<Durability> {
  const [only, another] = servers;
  if (only !== undefined && another === undefined) return within(timeoutMs, durabilityOfOne(only));
  const each = await Promise.all(
    servers.map((send) => within(Math.min(timeoutMs, 500), durabilityOfOne(send)).catch(leastUnlessRefused)),
  );
  return WEAKEST_FIRST.find((durability) => each.includes(durability)) ?? "memory";
}

function leastUnlessRefused(error: unknown): Durability {
  const code = StateError.is(error) ? error.code : classify(error);
  if (code === "TIMEOUT" || code === "UNAVAILABLE") return "memory";
  throw error;
}

async function durabilityOfOne(send: Send): Promise<Durability> {
  const [info, config] = await Promise.all([answered(send(["INFO"])), answered(send(["CONFIG", "GET", "*append*"]))]);
  const told = lines(info);
  const settings = pairs(config);
  // With a memory limit and any other policy, a full server evicts threads to make room.
  if (told.get("maxmemory") !== "0" && told.get("maxmemory_policy") !== "noeviction") return "memory";
  const logs = told.get("aof_enabled") === "1" || settings.get("appendonly") === "yes";
  if (!logs) return "memory";
  // Then the log is not synced during a rewrite, which may run at any time.
  const isAlwaysSynced = settings.get("no-appendfsync-on-rewrite") === "no";
  return settings.get("appendfsync") === "always" && isAlwaysSynced ? "fsync" : "os";
}

/** If the server refuses, nothing is known. A missing connection is an error, not an answer. */
async function answered(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    const code = classify(error);
    if (code === "PERMISSION_DENIED" || code === "UNSUPPORTED" || isPlainRefusal(error)) return undefined;
    throw error;
  }
}

const isPlainRefusal = (error: unknown): boolean => error instanceof Error && error.message.startsWith("ERR ");

/** Names and values, in any of the shapes that the protocol and the client libraries return. */
export function pairs(reply: unknown): ReadonlyMap<string, string> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [String(name), String(value)]));
  if (Array.isArray(reply)) {
    return new Map(reply.flatMap((name, at) => (at % 2 === 0 ? [[String(name), String(reply[at + 1])] as const] : [])));
  }
  if (typeof reply !== "object" || reply === null || Buffer.isBuffer(reply)) return new Map();
  return new Map(Object.entries(reply).map(([name, value]) => [name, String(value)]));
}

export function lines(reply: unknown): ReadonlyMap<string, string> {
  if (typeof reply !== "string" && !Buffer.isBuffer(reply)) return new Map();
  return new Map(
    reply
      .toString()
      .split(/\r?\n/)
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)] as const),
  );
}
