import { afterAll, test } from "vitest";
import { OracleCheckpointSaver, OracleStore } from "../../src/backends/oracle/index.ts";
import type { Store } from "../../src/store/store.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testSaver } from "../../src/testing/test-saver.ts";
import { testStore } from "../../src/testing/test-store.ts";
import { describeWithOracle } from "./with-oracle.ts";

/** The suite of savers. `every`: 1 registers all cases, 10 every tenth. */
export const proveOracleSaver = (every: number): Promise<void> =>
  describeWithOracle(({ options }) => {
    let cases = 0;
    testSaver({
      name: "oracle",
      test: (title, run) => {
        if (cases++ % every === 0) test(title, run);
      },
      afterAll,
      create: async () => {
        const clock = manualClock();
        const where = { ...options(), now: clock.now };
        const opened: OracleCheckpointSaver[] = [];
        const open = (): OracleCheckpointSaver => {
          const saver = new OracleCheckpointSaver(where);
          opened.push(saver);
          return saver;
        };
        const cleanup = async (): Promise<void> => {
          for (const saver of opened) await saver.close();
        };
        return { subject: open(), clock, reopen: async () => open(), cleanup };
      },
    });
  });

/** A table is made for vectors of one length, and the cases of the suite have several. */
const LENGTHS: readonly (readonly [RegExp, number])[] = [
  [/nearest vectors|a filtered search|sees what another instance put/, 16],
  [/a search by vector stays|past its end|closing and opening again/, 2],
];

/** The suite of stores, the same way. */
export const proveOracleStore = (every: number): Promise<void> =>
  describeWithOracle(
    ({ overLine }) => {
      let cases = 0;
      let dimension = 3;
      testStore({
        name: "oracle",
        test: (title, run) => {
          if (cases++ % every > 0) return;
          test(title, (context) => {
            dimension = LENGTHS.find(([pattern]) => pattern.test(title))?.[1] ?? 3;
            return run(context);
          });
        },
        afterAll,
        create: async () => {
          const { options: line, ...rest } = await overLine();
          // A store has a layer of its own kind.
          const { sealing: _, ...options } = line;
          const length = dimension;
          const open = (): Store => new OracleStore({ ...options, dimension: length });
          return { subject: open(), reopen: async () => open(), ...rest };
        },
      });
    },
    { vectors: true },
  );
