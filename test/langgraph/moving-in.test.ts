import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { copyGraphThreads, toLangGraphSaver } from "../../src/adapters/langgraph/index.ts";
import { failureOf } from "../failure-of.ts";
import { localPlace } from "../saver/saver-places.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { askFor } from "../services/with-service.ts";
import { SCENARIOS } from "./graph-scenarios.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-moving-"));
afterAll(() => rm(folder, { recursive: true }));
const answer = await askFor("postgres");
const postgres = "url" in answer ? postgresPlace(answer.url) : undefined;
afterAll(() => postgres?.dispose());

const theirs = (): SqliteSaver => SqliteSaver.fromConnString(join(folder, "theirs.db"));

/** Their saver needs better-sqlite3, which is compiled for the Node that installed it: on a second one it does not load. */
function canOpenTheirs(): boolean {
  try {
    return theirs() !== undefined;
  } catch (error) {
    if (error instanceof Error && error.message.includes("NODE_MODULE_VERSION")) return false;
    throw error;
  }
}

const SOURCES: readonly (readonly [string, () => Promise<BaseCheckpointSaver>])[] = [
  ...(canOpenTheirs() ? [["SqliteSaver", async () => theirs()] as const] : []),
  ["MemorySaver", async () => new MemorySaver()],
  ...(postgres === undefined
    ? []
    : [
        [
          "PostgresSaver",
          async () => {
            const saver = PostgresSaver.fromConnString(postgres.url, { schema: postgres.schema });
            await saver.setup();
            return saver;
          },
        ] as const,
      ]),
];

describe.each(SOURCES)("threads that LangGraph's %s wrote", (name, open) => {
  test("are copied whole, with namespaces and pending writes, compared, and go on", async () => {
    const source = await open();
    for (const { run } of SCENARIOS) await run(source);
    const place = await localPlace("sqlite");
    const target = toLangGraphSaver(place.open());
    const copied: string[] = [];
    const report = await copyGraphThreads(source, target, { onThread: (threadId) => copied.push(threadId) });
    expect(copied.sort()).toEqual(["agent", "fork", "loop", "mut", "par", "send", "sub"]);
    expect(report.threads).toBe(7);
    let listed = 0;
    for await (const _ of source.list({})) listed++;
    expect(report.checkpoints).toBe(listed);
    expect(await failureOf(() => copyGraphThreads(source, target))).toMatchObject({ code: "CONFLICT" });
    const again = await SCENARIOS[0]?.run(target);
    expect(again, `${name}: the thread goes on`).toBeDefined();
    await place.cleanup();
    if (source instanceof PostgresSaver) await source.end();
  });
});

test("of a source that lists ten where no limit is given, all is copied", async () => {
  class Listing extends MemorySaver {
    override async *list(...[config, options]: Parameters<MemorySaver["list"]>): ReturnType<MemorySaver["list"]> {
      yield* super.list(config, { limit: 10, ...options });
    }
  }
  const source = new Listing();
  for (const { run } of SCENARIOS) await run(source);
  const place = await localPlace("memory");
  const report = await copyGraphThreads(source, toLangGraphSaver(place.open()));
  let listed = 0;
  for await (const _ of source.list({}, { limit: 10_000 })) listed++;
  expect(listed).toBeGreaterThan(10);
  expect(report).toEqual({ threads: 7, checkpoints: listed });
  await place.cleanup();
});
