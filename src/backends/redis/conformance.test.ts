import { testOnRedis } from "../../../test/redis/conformance.ts";
import { IOREDIS } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";

await describeWithService("redis", (url) => testOnRedis(IOREDIS, url));
