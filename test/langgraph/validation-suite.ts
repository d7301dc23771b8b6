import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { toLangGraphSaver } from "../../src/adapters/langgraph/index.ts";
import type { LangGraphSaver } from "../../src/adapters/langgraph/saver.ts";
import type { ThreadLog } from "../../src/checkpoint/thread-log.ts";
import { CheckpointSaver } from "../../src/saver/checkpoint-saver.ts";

/** A log on an empty storage of its own, and the way to take it away. */
export interface EmptyPlace {
  readonly log: ThreadLog;
  readonly cleanup?: () => Promise<void>;
}

/**
 * LangGraph's own validation suite, all 726 of its tests. The suite skips a test for
 * savers that it knows by name; ours has a name of its own, so that it skips nothing.
 */
export function validate(name: string, makePlace: () => Promise<EmptyPlace>): void {
  // The suite takes the test runner from the global object.
  Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
  const places = new WeakMap<LangGraphSaver, EmptyPlace>();
  const initializer = {
    checkpointerName: `holdfast ${name}`,
    createCheckpointer: async () => {
      const place = await makePlace();
      const saver = toLangGraphSaver(new CheckpointSaver({ log: place.log }));
      places.set(saver, place);
      return saver;
    },
    destroyCheckpointer: async (saver: LangGraphSaver) => {
      await (await saver.saver()).close();
      await places.get(saver)?.cleanup?.();
    },
  };
  specTest(initializer);
  deltaChannelHistoryTests(initializer);
}
