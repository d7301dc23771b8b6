import { createRequire } from "node:module";
import { join } from "node:path";
import { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect, test } from "vitest";
import { LangGraphSaver } from "../../src/adapters/langgraph/saver.ts";

test("what runs here is the version out of the other folder", async () => {
  const folder = process.env["HOLDFAST_PEERS_FOLDER"] ?? "";
  const entry = createRequire(join(folder, "package.json")).resolve("@langchain/langgraph-checkpoint");
  const theirs: unknown = await import(entry.replace(/\.cjs$/, ".js"));
  expect(Object.getPrototypeOf(LangGraphSaver)).toBe(BaseCheckpointSaver);
  expect(theirs).toMatchObject({ BaseCheckpointSaver });
});
