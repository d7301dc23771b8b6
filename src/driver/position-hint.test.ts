import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../test/property-seed.ts";
import { hintedSeq, isHintedAt, newId, withHint } from "./ids.ts";

test("an id leads to the position that it was made for, and to no other", () => {
  for (const seq of [1, 9, 10, 35, 36, 1000, 2 ** 26 - 1, 2 ** 26, 2 ** 51]) {
    const id = withHint(newId(), seq);
    expect(hintedSeq(id)).toBe(seq);
    expect(isHintedAt(id, seq)).toBe(true);
    for (const other of [seq - 1, seq + 1, seq * 36, Math.floor(seq / 36)]) expect(isHintedAt(id, other)).toBe(false);
  }
});

test("an id without a hint leads nowhere, nor does a number that is written in another way", () => {
  for (const id of [
    newId(),
    "",
    "-",
    "5",
    "x-",
    "x-0",
    "x-05",
    "x--0",
    "x-A",
    "x-1.5",
    "x-1e3!",
    "x-5 ",
    "x-5\n",
    "x-é",
  ]) {
    expect(hintedSeq(id), JSON.stringify(id)).toBeUndefined();
  }
  expect(hintedSeq(`x-${"z".repeat(11)}`), "more than a number holds").toBeUndefined();
  expect(hintedSeq(`x-${"z".repeat(10)}`), "as much as a number holds").toBe(36 ** 10 - 1);
});

test("both readings of an id agree, whatever it is", () => {
  const ids = fc.oneof(
    fc.string(),
    fc.tuple(fc.string(), fc.stringMatching(/^-?[0-9a-zA-Z]{0,12}$/)).map(([name, end]) => `${name}-${end}`),
  );
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 2000 }), (id, seq) => {
      expect(isHintedAt(id, seq)).toBe(hintedSeq(id) === seq);
      const hinted = hintedSeq(id);
      if (hinted !== undefined)
        expect(Number.isSafeInteger(hinted) && hinted >= 1 && isHintedAt(id, hinted)).toBe(true);
    }),
    runs(500),
  );
});
