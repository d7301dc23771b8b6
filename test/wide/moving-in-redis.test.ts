import { RedisSaver } from "@langchain/langgraph-checkpoint-redis";
import { expect, test } from "vitest";
import { copyGraphThreads, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { SCENARIOS } from "../langgraph/graph-scenarios.ts";
import { localPlace } from "../saver/saver-places.ts";
import { startRedis } from "../services/redis.ts";
import { HOW_TO_GET_MODULES, redisWithModules } from "../services/redis-with-modules.ts";

const modules = await redisWithModules();
if (modules === undefined) console.log(`RedisSaver is not tried: ${HOW_TO_GET_MODULES}`);

test.skipIf(modules === undefined)(
  "threads that LangGraph's RedisSaver wrote are copied whole, with namespaces and pending writes, compared, and go on",
  async () => {
    const server = await startRedis(modules);
    const source = await RedisSaver.fromUrl(server.url);
    for (const { run } of SCENARIOS) await run(source);
    const place = await localPlace("sqlite");
    const target = toLangGraphSaver(place.open());
    const copied: string[] = [];
    const report = await copyGraphThreads(source, target, { onThread: (threadId) => copied.push(threadId) });
    expect(copied.sort()).toEqual(["agent", "fork", "loop", "mut", "par", "send", "sub"]);
    expect(report.threads).toBe(7);
    expect(await SCENARIOS[0]?.run(target), "the thread goes on").toBeDefined();
    await place.cleanup();
    await source.end();
    await server.stop();
  },
);
