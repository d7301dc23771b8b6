import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, test } from "vitest";
import { redisCheckpointer } from "./index.ts";

const CLIENTS = {
  ioredis: () => new Redis({ lazyConnect: true }),
  redis: () => createClient(),
};

test.each(Object.entries(CLIENTS))(
  "a client of %s is listened to from the moment it is handed in, and let go by close, though it was never used",
  async (_, make) => {
    const client = make();
    const before = client.listenerCount("error");
    const checkpointer = redisCheckpointer({ client });
    expect(client.listenerCount("error")).toBe(before + 1);
    await checkpointer.close();
    expect(client.listenerCount("error")).toBe(before);
  },
);

test("a value that is not a client is refused at once", () => {
  expect(() => redisCheckpointer({ client: {} as never })).toThrow(/not one of the known ones/);
  expect(() => redisCheckpointer({ prefix: "{a}" })).toThrow(/prefix must be/);
});
