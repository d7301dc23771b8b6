import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { describeWithService } from "../services/with-service.ts";
import { redisSaverPlace } from "./saver-places.ts";
import { proveSaver } from "./saver-suite.ts";

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());
  proveSaver("redis", async () => redisSaverPlace(admin, url), 400);
});
