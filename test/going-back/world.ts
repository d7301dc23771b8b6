import { afterAll, beforeAll, describe, test } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { Store } from "../../src/store/store.ts";

/** What one process has open on a storage. */
export interface Process {
  readonly checkpointer: Checkpointer;
  /** Where the backend keeps items. */
  readonly store?: Store;
}

/** A storage that goes back in time once. */
export interface GoingBack {
  /** Opened before, and open throughout. */
  readonly live: Process;
  /** All that was written so far is kept. */
  readonly copied: () => Promise<void>;
  /** All that was written since `copied` is lost. */
  readonly back: () => Promise<void>;
  /** A process that starts once the storage went back. */
  readonly open: () => Promise<Process>;
  readonly dispose: () => Promise<void>;
}

/** A storage by what opens it, and what copies it and says how the copy is put in its place. */
export async function copiedBy(
  open: () => Process,
  copy: () => Promise<() => Promise<void>>,
  cleanup: () => Promise<void> = async () => undefined,
): Promise<GoingBack> {
  const opened: Process[] = [];
  const opening = (): Process => {
    const process = open();
    opened.push(process);
    return process;
  };
  const live = opening();
  let restore: (() => Promise<void>) | undefined;
  return {
    live,
    copied: async () => {
      restore = await copy();
    },
    back: async () => restore?.(),
    open: async () => opening(),
    dispose: async () => {
      for (const { checkpointer, store } of opened) {
        await checkpointer.close();
        await store?.close();
      }
      await cleanup();
    },
  };
}

export interface World {
  readonly live: Process;
  /** Another process; only once the storage went back. */
  readonly other: () => Promise<Process>;
}

/** Pauses twice: until the storage was copied, and until the copy is in its place. */
export interface Scenario {
  readonly name: string;
  readonly needs?: "store";
  readonly run: (world: World, threadId: string) => AsyncGenerator<void, void, void>;
}

/** All scenarios on one storage that goes back once, each in a thread of its own; a test for each. */
export function playAll(name: string, scenarios: readonly Scenario[], create: () => Promise<GoingBack>): void {
  describe(name, () => {
    const ends = new Map<Scenario, () => Promise<unknown>>();
    let place: GoingBack | undefined;
    beforeAll(async () => {
      place = await create();
      const { live, open, copied, back } = place;
      const opened: { process?: Promise<Process> } = {};
      const other = (): Promise<Process> => (opened.process ??= open());
      const able = scenarios.filter(({ needs }) => needs === undefined || live.store !== undefined);
      const stories = new Map(able.map((each, index) => [each, each.run({ live, other }, `thread ${index}`)]));
      const failures = new Map<Scenario, unknown>();
      const proceed = async (): Promise<void> => {
        for (const [scenario, story] of stories) {
          if (failures.has(scenario)) continue;
          const { done } = await story.next().catch((error: unknown) => {
            failures.set(scenario, error);
            return { done: false };
          });
          if (done === true) failures.set(scenario, new Error("the scenario ended before the storage went back"));
        }
      };
      await proceed();
      await copied();
      await proceed();
      await back();
      for (const [scenario, story] of stories) {
        ends.set(scenario, async () => {
          if (failures.has(scenario)) throw failures.get(scenario);
          const { done } = await story.next();
          if (done !== true) throw new Error("the scenario pauses more than twice");
        });
      }
    });
    afterAll(() => place?.dispose());
    for (const scenario of scenarios) {
      test(scenario.name, async (context) => {
        const end = ends.get(scenario);
        if (end === undefined) return context.skip("this backend keeps no items");
        await end();
      });
    }
  });
}
