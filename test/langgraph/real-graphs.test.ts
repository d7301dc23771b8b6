import { MemorySaver } from "@langchain/langgraph";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { localPlace, postgresSaverPlace, type SaverPlace } from "../saver/saver-places.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { askFor } from "../services/with-service.ts";
import { SCENARIOS } from "./graph-scenarios.ts";

const answer = await askFor("postgres");
const postgres = "url" in answer ? postgresPlace(answer.url) : undefined;
afterAll(() => postgres?.dispose());

const PLACES: readonly (readonly [string, () => Promise<SaverPlace>])[] = [
  ["memory", () => localPlace("memory")],
  ["sqlite", () => localPlace("sqlite")],
  ["file", () => localPlace("file")],
  ...(postgres === undefined ? [] : [["postgres", async () => postgresSaverPlace(postgres)] as const]),
];

describe.each(SCENARIOS)("$name", ({ run }) => {
  let place: SaverPlace | undefined;
  afterEach(async () => {
    await place?.cleanup();
    place = undefined;
  });

  test.each(PLACES)("on %s it goes as with LangGraph's MemorySaver", async (_, makePlace) => {
    place = await makePlace();
    const expected = await run(new MemorySaver());
    expect(await run(toLangGraphSaver(place.open()))).toEqual(expected);
  });

  test("with a new base whenever it may be, it goes the same", async () => {
    place = await localPlace("memory");
    const { saverOf } = await import("../../src/saver/checkpoint-saver.ts");
    const expected = await run(new MemorySaver());
    expect(await run(toLangGraphSaver(saverOf(place.open(), { slackBytes: 0 })))).toEqual(expected);
  });
});
