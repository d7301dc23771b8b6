import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../test/property-seed.ts";
import { memoryId } from "./identity.ts";
import type { Fact, Memory, Provenance } from "./memory.ts";
import { mergeFact } from "./merge-fact.ts";

/** Few subjects, attributes and values, so that they meet; spelt in several ways. */
const fact: fc.Arbitrary<Fact> = fc.record({
  type: fc.constantFrom("user" as const, "project" as const),
  subject: fc.constantFrom("user", "User", " ledger"),
  attribute: fc.constantFrom("home", "Home!", "pet"),
  value: fc.constantFrom("Bern", "bern.", "Basel", "Chur"),
  text: fc.constantFrom("A.", "B.", "C."),
  quote: fc.constant("quote"),
  message: fc.nat(9),
  many: fc.boolean(),
  ended: fc.constantFrom(false, false, false, true),
});
const thread = fc.array(fact, { maxLength: 30 });

/** Where the fact of this number was said: three in a message. */
const placeOf = (number: number): Provenance["message"] => ({
  index: Math.floor(number / 3),
  offset: 10 * (number % 3) + 5,
  role: "user",
});

/** Reads facts one after another, as the messages of a thread in their order. */
function read(facts: readonly Fact[], known: Map<string, Memory> = new Map(), threadId = "t"): Map<string, Memory> {
  for (const [index, one] of facts.entries()) {
    const provenance: Provenance = {
      threadId,
      checkpointId: null,
      message: placeOf(index),
      quote: one.quote,
      extractor: "x",
      at: 1000 + index,
    };
    const id = memoryId(one);
    const { memory } = mergeFact(known.get(id), one, provenance);
    if (memory !== undefined) known.set(id, memory);
  }
  return known;
}

test("reading a thread again, from anywhere, changes nothing", () => {
  fc.assert(
    fc.property(thread, fc.nat(), (facts, start) => {
      const once = read(facts);
      const again = new Map(once);
      for (const [index, one] of facts.entries()) {
        if (index < start % (facts.length + 1)) continue;
        const at = { threadId: "t", checkpointId: null, quote: "q", extractor: "x", at: 9999 };
        const { memory, outcome } = mergeFact(again.get(memoryId(one)), one, {
          ...at,
          message: placeOf(index),
        });
        if (memory !== undefined) again.set(memoryId(one), memory);
        expect(outcome).toBe("known");
      }
      expect(again).toEqual(once);
    }),
    runs(500),
  );
});

test("what holds is what was said last, and every value of the past has a time that ends where the next begins", () => {
  fc.assert(
    fc.property(thread, (facts) => {
      for (const [id, memory] of read(facts)) {
        const said = facts.filter((one) => memoryId(one) === id && one.ended !== true);
        if (memory.status === "active")
          expect(said.at(-1)?.value.toLowerCase()).toContain(memory.value.toLowerCase().slice(0, 4));
        for (const { validFrom, validTo } of memory.history) expect(validTo).toBeGreaterThan(validFrom);
        const [newest] = memory.history;
        if (memory.status === "active" && newest !== undefined)
          expect(newest.validTo).toBeLessThanOrEqual(memory.validFrom);
        expect(memory.history.length).toBeLessThanOrEqual(20);
      }
    }),
    runs(500),
  );
});

test("a second thread counts as later, whatever the numbers of its messages are", () => {
  const base = { type: "user", subject: "user", attribute: "home", text: "t", quote: "q", message: 0 } as const;
  const known = read([base, base, base].map((one, index) => ({ ...one, value: `city ${index}` })));
  read([{ ...base, value: "Bern" }], known, "other");
  expect([...known.values()]).toMatchObject([
    { value: "Bern", history: [{ value: "city 2" }, { value: "city 1" }, { value: "city 0" }] },
  ]);
});
