import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { startRedis } from "../services/redis.ts";
import { freePort, type TestServer } from "../services/server-process.ts";

export interface TestCluster {
  readonly nodes: readonly TestServer[];
  /** A connection to each node, in the same order. */
  readonly admins: readonly Redis[];
  readonly url: string;
  /** Resolves when every node has found the others and serves. */
  untilWhole(): Promise<void>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** Three primaries without replicas. */
export async function startCluster(size = 3): Promise<TestCluster> {
  // Of this cluster alone: a node of another one would let its clients in.
  const password = randomBytes(12).toString("hex");
  const ports = await Promise.all(Array.from({ length: size }, freePort));
  const nodes = await Promise.all(
    ports.map((busPort) =>
      startRedis({
        settings: {
          requirepass: password,
          "cluster-enabled": "yes",
          "cluster-config-file": "nodes.conf",
          "cluster-port": String(busPort),
        },
      }),
    ),
  );
  const admins = nodes.map(({ url }) => new Redis(url));
  // A node that a test kills is no news.
  for (const admin of admins) admin.on("error", () => undefined);
  const [first] = admins;
  for (const [index, admin] of admins.entries()) {
    const [from, to] = [index, index + 1].map((part) => Math.floor((SLOTS * part) / size));
    await become(admin, `cluster_slots_assigned:${(to ?? 0) - (from ?? 0)}`, [
      "ADDSLOTSRANGE",
      String(from),
      String((to ?? 0) - 1),
    ]);
    await become(admin, `cluster_my_epoch:${index + 1}`, ["SET-CONFIG-EPOCH", String(index + 1)]);
    const place = ["127.0.0.1", String(nodes[index]?.port), String(ports[index])];
    if (index > 0) await first?.call("CLUSTER", ["MEET", ...place]);
  }
  const untilWhole = async () => void (await Promise.all(admins.map((admin) => untilServing(admin, size))));
  await untilWhole();
  return {
    untilWhole,
    nodes,
    admins,
    url: nodes[0]?.url ?? "",
    stop: async () => {
      for (const admin of admins) admin.disconnect();
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** A client whose connection breaks sends its command again, and a node refuses what it has done already. */
async function become(admin: Redis, fact: string, command: readonly string[]): Promise<void> {
  try {
    await admin.call("CLUSTER", [...command]);
  } catch (error) {
    const info = String(await admin.call("CLUSTER", ["INFO"]));
    if (!info.split("\r\n").includes(fact)) throw new Error(`${command.join(" ")} at ${info}`, { cause: error });
  }
}

/** Has every node say that clients find it, and the others, at other ports: those of proxies, in the nodes' order. */
export async function announce({ admins }: TestCluster, ports: readonly number[]): Promise<void> {
  for (const [index, admin] of admins.entries()) {
    await admin.config("SET", "cluster-announce-port", String(ports[index]));
  }
  for (const admin of admins) {
    for (let waited = 0; ; waited += 50) {
      const told = JSON.stringify(await admin.call("CLUSTER", ["SLOTS"]));
      if (ports.every((port) => told.includes(String(port)))) break;
      if (waited > 60_000) throw new Error("the nodes of the cluster did not hear of each other's ports");
      await sleep(50);
    }
  }
}

async function untilServing(admin: Redis, size: number): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    const info = String(await admin.call("CLUSTER", ["INFO"]).catch(() => ""));
    if (info.includes("cluster_state:ok") && info.includes(`cluster_size:${size}`)) return;
    await sleep(50);
  }
  throw new Error("the nodes of the cluster did not find each other");
}
