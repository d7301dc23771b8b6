import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { type LangGraphSaver, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import type { CheckpointSaver } from "../../src/saver/checkpoint-saver.ts";

/** An empty storage of its own for one test. */
interface ValidatedPlace {
  readonly open: () => Checkpointer | CheckpointSaver;
  readonly cleanup: () => Promise<void>;
}

/**
 * LangGraph's own validation suite, all 726 of its tests. The suite skips a test for
 * savers that it knows by name; ours has a name of its own, so that it skips nothing.
 */
export function validate(name: string, makePlace: () => Promise<ValidatedPlace>): void {
  // The suite takes the test runner from the global object.
  Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
  const places = new WeakMap<LangGraphSaver, ValidatedPlace>();
  const initializer = {
    checkpointerName: `holdfast ${name}`,
    createCheckpointer: async () => {
      const place = await makePlace();
      const saver = toLangGraphSaver(place.open());
      places.set(saver, place);
      return saver;
    },
    destroyCheckpointer: async (saver: LangGraphSaver) => {
      await places.get(saver)?.cleanup();
    },
  };
  specTest(initializer);
  deltaChannelHistoryTests(initializer);
}
