import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { redisSaverPlace } from "../saver/saver-places.ts";
import { describeWithService } from "../services/with-service.ts";
import { validate } from "./validation-suite.ts";

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());
  validate("redis", async () => redisSaverPlace(admin, url));
});
