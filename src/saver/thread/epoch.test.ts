import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { CheckpointSaver } from "../checkpoint-saver.ts";
import { Epoch } from "./epoch.ts";

test("of what was put, the names stay in memory and never the values that it was packed from", async () => {
  const log = new MemoryLog();
  const saver = new CheckpointSaver({ log });
  const kept: unknown[] = [];
  const { append } = Epoch.prototype;
  Epoch.prototype.append = function (this: Epoch, ...given: Parameters<Epoch["append"]>) {
    const record = append.apply(this, given);
    kept.push(...this.places(), this.find(given[1]));
    return record;
  };
  try {
    await saver.put({ threadId: "t", checkpointId: "c", checkpointData: { word: "needle" } });
  } finally {
    Epoch.prototype.append = append;
    await saver.close();
  }
  expect(kept.map((each) => Object.keys(each as object).sort())).toEqual([
    ["id", "ns"],
    ["createdAt", "delta", "id", "metadata", "ns", "on", "parentId", "seq", "writeId"],
  ]);
});
