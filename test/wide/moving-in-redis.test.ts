import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "@langchain/langgraph-checkpoint-redis";
import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
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

test.skipIf(modules === undefined)(
  "RedisSaver is asked for ids and for one checkpoint at a time, and ids that its index takes for one are told apart",
  async () => {
    const server = await startRedis(modules);
    const source = await RedisSaver.fromUrl(server.url);
    const ids = ["a", "A", "a|b", "tag-1.2", "fünf", "a, b"];
    for (const thread_id of ids) {
      const checkpoint = { ...emptyCheckpoint(), channel_values: { value: thread_id }, channel_versions: { value: 1 } };
      const metadata = { source: "input", step: 0, parents: {} } as const;
      await source.put({ configurable: { thread_id, checkpoint_ns: "" } }, checkpoint, metadata, { value: 1 });
    }
    await SCENARIOS[0]?.run(source);
    source.list = () => {
      throw new Error("a list holds every state at once");
    };
    const target = toLangGraphSaver(new Checkpointer(new MemoryLog()));
    const report = await copyGraphThreads(source, target);
    expect([report.threads, report.skipped]).toEqual([ids.length + 1, []]);
    for (const thread_id of ids) {
      const copied = await target.getTuple({ configurable: { thread_id } });
      expect(copied?.checkpoint.channel_values, thread_id).toEqual({ value: thread_id });
    }
    expect((await copyGraphThreads(source, target)).thereAlready).toBe(ids.length + 1);
    await source.end();
    await server.stop();
  },
);
