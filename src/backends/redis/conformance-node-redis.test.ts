import { testOnRedis } from "../../../test/redis/conformance.ts";
import { NODE_REDIS } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";

await describeWithService("redis", (url) => testOnRedis(NODE_REDIS, url));
