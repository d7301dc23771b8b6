import { Redis } from "ioredis";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import { type Contender, THREAD } from "./contender.ts";
import { driven } from "./holdfast.ts";
import { placeName, serverUrl } from "./server-place.ts";

/** As the server is set up: every command is in its append-only file, on the disk, when it returns. */
const durability = "fsync";

export const holdfastRedis: Contender = {
  name: "holdfast redis",
  durability,
  size: keyBytes,
  open: async (directory) => {
    const { client, roundTrips } = countedClient();
    const checkpointer = redisCheckpointer({ client, prefix: `${placeName(directory)}:` });
    await checkpointer.connect();
    const open = driven(checkpointer);
    return { ...open, roundTrips, close: () => open.close().then(() => client.disconnect()) };
  },
};

/** The floor: one script that appends the message to a list. No history, no conflicts. */
export const rawEval: Contender = {
  name: "raw EVALSHA, redis",
  durability,
  size: keyBytes,
  open: async (directory) => {
    const { client, roundTrips } = countedClient();
    const key = `${placeName(directory)}:{${THREAD}}`;
    const script = String(await client.script("LOAD", "return redis.call('RPUSH', KEYS[1], ARGV[1])"));
    return {
      roundTrips,
      append: async (message) => {
        await client.evalsha(script, 1, key, Buffer.from(JSON.stringify(message)));
      },
      load: async () => (await client.lrange(key, 0, -1)).map((text) => JSON.parse(text) as unknown).length,
      close: async () => client.disconnect(),
    };
  },
};

/** A client that counts the commands that are sent. */
function countedClient(): { readonly client: Redis; readonly roundTrips: () => number } {
  let count = 0;
  class CountingRedis extends Redis {
    override sendCommand(...args: Parameters<Redis["sendCommand"]>): unknown {
      count++;
      return super.sendCommand(...args);
    }
  }
  return { client: new CountingRedis(serverUrl("redis")), roundTrips: () => count };
}

async function keyBytes(directory: string): Promise<number> {
  const client = new Redis(serverUrl("redis"));
  try {
    let [bytes, cursor] = [0, "0"];
    do {
      const [next, keys] = await client.scan(cursor, "MATCH", `${placeName(directory)}:*`, "COUNT", 1000);
      for (const key of keys) bytes += Number(await client.memory("USAGE", key, "SAMPLES", 0));
      cursor = next;
    } while (cursor !== "0");
    return bytes;
  } finally {
    client.disconnect();
  }
}
