import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { EMPTY_FIELDS, migrateFields, type StateFields, type StateSchema } from "./fields.ts";

const withLog = (fields: StateFields, entry: string): StateFields => ({
  ...fields,
  metadata: { ...fields.metadata, log: [...((fields.metadata["log"] as string[] | undefined) ?? []), entry] },
});

const upTo = (version: number): StateSchema => ({
  version,
  migrate: (fields, from) => withLog(fields, `${from} to ${from + 1}`),
});

describe("migrating", () => {
  test("runs once for each version in between, in order", () => {
    expect(migrateFields(EMPTY_FIELDS, 0, upTo(3)).metadata["log"]).toEqual(["0 to 1", "1 to 2", "2 to 3"]);
    expect(migrateFields(EMPTY_FIELDS, 2, upTo(3)).metadata["log"]).toEqual(["2 to 3"]);
  });

  test("does nothing to a state that is up to date", () => {
    expect(migrateFields(EMPTY_FIELDS, 3, upTo(3))).toBe(EMPTY_FIELDS);
  });

  test("does nothing without a schema, whatever the version", () => {
    expect(migrateFields(EMPTY_FIELDS, 7, undefined)).toBe(EMPTY_FIELDS);
  });

  test("a failure of the program's own migration reaches it unchanged", () => {
    const own = new RangeError("mine");
    const schema: StateSchema = {
      version: 1,
      migrate: () => {
        throw own;
      },
    };
    expect(() => migrateFields(EMPTY_FIELDS, 0, schema)).toThrow(own);
  });
});

test("a state from a newer program is INCOMPATIBLE and says what to do", async () => {
  const failure = await failureOf(() => migrateFields(EMPTY_FIELDS, 4, upTo(3)));
  expect(failure.code).toBe("INCOMPATIBLE");
  expect(failure.message).toBe(
    "the state has schema version 4; this program knows up to 3. Deploy the newer program to read it",
  );
});
