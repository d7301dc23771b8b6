import { MongoDBSaver } from "@langchain/langgraph-checkpoint-mongodb";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { copyGraphThreads, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { SCENARIOS } from "../langgraph/graph-scenarios.ts";
import { localPlace } from "../saver/saver-places.ts";
import { canHaveFerretdb, HOW_TO_GET_FERRETDB, startFerretdb } from "../services/ferretdb.ts";

const isHere = await canHaveFerretdb();
if (!isHere) console.log(`MongoDBSaver is not tried: ${HOW_TO_GET_FERRETDB}`);

test.skipIf(!isHere)(
  "threads that LangGraph's MongoDBSaver wrote are copied whole, with namespaces and pending writes, compared, and go on; it is asked for ids and for one checkpoint at a time",
  async () => {
    const server = await startFerretdb();
    const client = new MongoClient(server.url);
    const source = new MongoDBSaver({ client, dbName: "graphs" });
    expect(await source.setup()).toEqual([]);
    for (const { run } of SCENARIOS) await run(source);
    let listed = 0;
    for await (const _ of source.list({})) listed++;
    source.list = () => {
      throw new Error("a list holds every state in turn");
    };
    const place = await localPlace("sqlite");
    const target = toLangGraphSaver(place.open());
    const report = await copyGraphThreads(source, target);
    expect(report).toEqual({ threads: 7, checkpoints: listed, thereAlready: 0, skipped: [] });
    expect(await copyGraphThreads(source, target)).toMatchObject({ threads: 0, thereAlready: 7, skipped: [] });
    expect(await SCENARIOS[0]?.run(target), "the thread goes on").toBeDefined();
    await place.cleanup();
    await client.close();
    await server.stop();
  },
);
