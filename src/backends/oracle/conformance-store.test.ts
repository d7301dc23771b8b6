import { afterAll, test } from "vitest";
import { describeWithOracle } from "../../../test/oracle-stand-in/with-oracle.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { OracleStore } from "./index.ts";

/** The table is made for vectors of one length, and the cases of the suite have several. */
const LENGTHS: readonly (readonly [RegExp, number])[] = [
  [/nearest vectors|a filtered search/, 16],
  [/a search by vector stays|past its end|closing and opening again/, 2],
];

await describeWithOracle(
  ({ overLine }) => {
    let dimension = 3;
    testStore({
      name: "oracle",
      test: (title, run) =>
        test(title, (context) => {
          dimension = LENGTHS.find(([pattern]) => pattern.test(title))?.[1] ?? 3;
          return run(context);
        }),
      afterAll,
      create: async () => {
        const { options, ...rest } = await overLine();
        const length = dimension;
        const open = (): Store => new OracleStore({ ...options, dimension: length });
        return { subject: open(), reopen: async () => open(), ...rest };
      },
    });
  },
  { vectors: true },
);
