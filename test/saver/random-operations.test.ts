import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { CheckpointSaver } from "../../src/saver/checkpoint-saver.ts";
import { FaultyLog } from "../../src/testing/faulty-log.ts";
import { seed } from "../property-seed.ts";
import { runRandomly } from "./random-operations.ts";

const OPERATIONS = 1500;

test.each([
  ["with the usual slack", 256 * 1024],
  ["with a new base whenever it may be", 0],
  ["with a new base now and then", 8 * 1024],
])("%s, two savers over one log never differ from the model", async (_, slackBytes) => {
  console.log(`random operations use HOLDFAST_SEED=${seed}`);
  const log = new MemoryLog();
  const counts = await runRandomly({
    seed,
    operations: OPERATIONS,
    open: () => new CheckpointSaver({ log, slackBytes, now: () => 0 }),
    now: () => 0,
  });
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(5);
});

test("with calls that fail before or after they were carried out, nothing is lost and nothing is applied twice", async () => {
  const inner = new MemoryLog();
  let calls = 0;
  let faults = 0;
  const log = new FaultyLog(inner, {
    faultAt: () => {
      calls++;
      if (calls % 17 !== 0) return undefined;
      faults++;
      return { when: faults % 2 === 0 ? "before" : "after", code: "UNAVAILABLE" } as const;
    },
  });
  await runRandomly({
    seed,
    operations: OPERATIONS,
    open: () => new CheckpointSaver({ log, slackBytes: 8 * 1024, now: () => 0, retry: { baseDelayMs: 0 } }),
    now: () => 0,
  });
  expect(faults).toBeGreaterThan(100);
});
