import { expect, test, vi } from "vitest";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";

// In a separate file: two mocks of one package in one file are registered in no certain order.
vi.mock("ioredis", async () => ({ ...(await import("ioredis-v5")), Redis: undefined }));

test("an older ioredis, which has no Redis to import, is refused with its name and the supported range", async () => {
  await using checkpointer = redisCheckpointer({ url: "redis://127.0.0.1:1", library: "ioredis" });
  await expect(checkpointer.load("t")).rejects.toMatchObject({
    code: "MISSING_DEPENDENCY",
    message: expect.stringContaining("ioredis@>=5.2.6 <7"),
  });
});
