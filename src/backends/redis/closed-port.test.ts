import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisCheckpointer } from "./index.ts";

/** Stands for a closed port, and counts who comes. */
const refusing = createServer((socket) => {
  connections++;
  socket.resetAndDestroy();
});
let connections = 0;
beforeAll(() => once(refusing.listen(0, "127.0.0.1"), "listening"));
afterAll(() => refusing.close());

describe.each(["ioredis", "redis"] as const)("an address at which no server was ever reached, with %s", (library) => {
  const attemptsOf = async (retry: { readonly attempts?: number }): Promise<number> => {
    const url = `redis://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
    await using checkpointer = redisCheckpointer({ url, library, retry: { baseDelayMs: 1, ...retry } });
    connections = 0;
    await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
    return connections;
  };

  test("is tried once for each attempt of a call, however long a connection may take", async () => {
    expect(await attemptsOf({ attempts: 1 })).toBe(1);
    expect(await attemptsOf({ attempts: 3 })).toBe(3);
    expect(await attemptsOf({})).toBe(4);
  });
});
