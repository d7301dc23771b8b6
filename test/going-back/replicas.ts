import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { Client } from "pg";
import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { StateError } from "../../src/errors.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { and, growThread, loaded, textsOf } from "../../src/testing/checkpointer-cases/conversations.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import { startPostgres, startPostgresStandby } from "../services/postgres.ts";
import { startRedis } from "../services/redis.ts";
import type { TestServer } from "../services/server-process.ts";
import type { GoingBack, Process } from "./world.ts";

/** A server and its asynchronous replica, connected by a link that can be cut. */
export interface Pair {
  readonly primary: TestServer;
  readonly replica: TestServer;
  /** Waits until the replica has what the primary has, and cuts the link. */
  readonly cutLink: () => Promise<void>;
  /** Resolves when the replica takes writes. */
  readonly promote: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** What waits here takes part of a second; this only has to end what never comes. */
const PATIENCE_MS = 60_000;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const began = performance.now(); !(await holds()); ) {
    if (performance.now() - began > PATIENCE_MS) throw new Error(`in a minute, ${what} did not come`);
    await sleep(20);
  }
}

export async function redisPair(): Promise<Pair> {
  // One password for both: it stands in the address that leads to either.
  const settings = { requirepass: randomBytes(12).toString("hex") };
  const [primary, replica] = [await startRedis({ settings }), await startRedis({ settings })];
  const link = await startCuttingProxy({ targetPort: primary.port });
  const [onPrimary, onReplica] = [new Redis(primary.url), new Redis(replica.url)];
  onPrimary.on("error", () => undefined);
  await onReplica.config("SET", "masterauth", settings.requirepass);
  await onReplica.replicaof(link.host, link.port);
  const offset = async (redis: Redis, field: string): Promise<string | undefined> =>
    new RegExp(`^${field}:(\\S+)`, "m").exec(await redis.info("replication"))?.[1];
  return {
    primary,
    replica,
    cutLink: async () => {
      await until("the replica", async () => {
        if ((await offset(onReplica, "master_link_status")) !== "up") return false;
        const written = await offset(onPrimary, "master_repl_offset");
        return (await offset(onReplica, "slave_repl_offset")) === written;
      });
      link.refuse();
    },
    promote: async () => {
      await onReplica.replicaof("NO", "ONE");
    },
    stop: async () => {
      onPrimary.disconnect();
      onReplica.disconnect();
      await link.close();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

export async function postgresPair(): Promise<Pair> {
  const primary = await startPostgres();
  const link = await startCuttingProxy({ targetPort: primary.port });
  const replica = await startPostgresStandby(primary, link.port);
  const ask = async (server: TestServer, sql: string): Promise<unknown> => {
    const client = new Client({ connectionString: server.url });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return Object.values((await client.query<Record<string, unknown>>(sql)).rows[0] ?? {})[0];
    } finally {
      await client.end();
    }
  };
  return {
    primary,
    replica,
    cutLink: async () => {
      const written = await ask(primary, "SELECT pg_current_wal_lsn()");
      await until("the standby", async () =>
        Boolean(await ask(replica, `SELECT pg_last_wal_replay_lsn() >= '${String(written)}'`)),
      );
      link.refuse();
    },
    promote: async () => {
      if ((await ask(replica, "SELECT pg_promote()")) !== true) throw new Error("the standby was not promoted");
    },
    stop: async () => {
      await link.close();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

/**
 * A save of one more message to each of these threads is in flight: the primary has made it and has not answered when
 * the replica without it is promoted. `meanwhile` is what other processes do there before the first one finds it.
 */
export async function unanswered(
  pair: Pair,
  open: (url: string) => Promise<Process>,
  threadIds: readonly string[],
  meanwhile: (other: Checkpointer) => Promise<void>,
): Promise<{
  readonly outcomes: readonly PromiseSettledResult<string>[];
  readonly lines: readonly (readonly string[])[];
}> {
  const address = await startCuttingProxy({ targetPort: pair.primary.port });
  const at = (port: number): string => Object.assign(new URL(pair.primary.url), { port: String(port) }).href;
  const [live, witness] = [await open(at(address.port)), await open(pair.primary.url)];
  const other = await open(at(pair.replica.port));
  try {
    const states: AgentState[] = [];
    for (const threadId of threadIds) states.push((await growThread(live.checkpointer, threadId, 2)).state);
    await pair.cutLink();
    address.swallow("to client");
    const saving = threadIds.map((threadId, index) =>
      insisting(live.checkpointer, and(states[index] as AgentState, "mine"), threadId),
    );
    for (const threadId of threadIds) {
      await until("the save", async () => (await loaded(witness.checkpointer, threadId)).messages.length === 3);
    }
    await pair.promote();
    await meanwhile(other.checkpointer);
    address.leadTo(pair.replica.port);
    address.restore();
    await pair.primary.kill();
    const outcomes = await Promise.allSettled(saving);
    const lines: (readonly string[])[] = [];
    for (const threadId of threadIds) {
      lines.push(textsOf(await loaded(live.checkpointer, threadId)));
      expect((await other.checkpointer.verify(threadId))?.faults).toEqual([]);
    }
    return { outcomes, lines };
  } finally {
    for (const { checkpointer, store } of [live, witness, other]) {
      await checkpointer.close();
      await store?.close();
    }
    await address.close();
    await pair.stop();
  }
}

/** As the docs say it: what may have been written is saved again, and applied once. */
async function insisting(checkpointer: Checkpointer, state: AgentState, threadId: string): Promise<string> {
  for (const began = performance.now(); ; ) {
    try {
      return await checkpointer.save(state, threadId);
    } catch (error) {
      const isOutage = StateError.is(error) && error.retryable && performance.now() - began < PATIENCE_MS;
      if (!isOutage) throw error;
    }
  }
}

/** A process that comes to the primary by an address, and to the promoted replica by the same one. */
export async function promoted(pair: Pair, open: (url: string) => Promise<Process>): Promise<GoingBack> {
  const address = await startCuttingProxy({ targetPort: pair.primary.port });
  const url = new URL(pair.primary.url);
  url.port = String(address.port);
  const opened: Process[] = [];
  const opening = async (where: string): Promise<Process> => {
    const process = await open(where);
    opened.push(process);
    return process;
  };
  return {
    live: await opening(url.href),
    copied: pair.cutLink,
    back: async () => {
      await pair.promote();
      address.leadTo(pair.replica.port);
      await pair.primary.kill();
    },
    open: () => opening(Object.assign(new URL(pair.primary.url), { port: String(pair.replica.port) }).href),
    dispose: async () => {
      for (const { checkpointer, store } of opened) {
        await checkpointer.close();
        await store?.close();
      }
      await address.close();
      await pair.stop();
    },
  };
}
