import assert from "node:assert/strict";
import { putHoldIn, seenHoldsIn } from "../../store/holds.ts";
import { replaceUnlessHeld } from "../../store/removing-items.ts";
import { failsWith } from "../expect-failure.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";
import { allNames } from "./walking.ts";

export const batchCases: readonly StoreCase[] = storeCasesOf("batches", [
  {
    name: "a batch puts and gets many at once, in their order",
    run: async ({ subject }) => {
      const entries = Array.from({ length: 500 }, (_, index) => ({
        namespace: ["n", String(index % 3)],
        key: `k${index}`,
        value: { index },
        metadata: { even: index % 2 === 0 },
      }));
      const results = await subject.putBatch(entries);
      assert.equal(new Set(results.map(({ version }) => version)).size, 500);
      const refs = [...entries].reverse();
      assert.deepEqual(
        await subject.getBatch(refs),
        refs.map(({ value }) => value),
      );
      const items = await subject.getItems([...refs, { namespace: ["n"], key: "none" }]);
      assert.equal(items.at(-1), undefined);
      assert.deepEqual(items[0]?.metadata, { even: false });
      assert.deepEqual(await subject.putBatch([]), []);
      assert.deepEqual(await subject.getBatch([]), []);
    },
  },
  {
    name: "a batch in which one put is refused writes nothing",
    needs: ["transactions"],
    run: async ({ subject }) => {
      await subject.put(["n"], "b", "there");
      const batch = () =>
        subject.putBatch([
          { namespace: ["n"], key: "a", value: 1 },
          { namespace: ["n"], key: "b", value: 1, expectedVersion: null },
          { namespace: ["n"], key: "c", value: 1 },
        ]);
      await failsWith("CONFLICT", batch, "a batch with a conflict");
      assert.deepEqual(await allNames(subject), ["n/b"]);
      assert.equal(await subject.get(["n"], "b"), "there");
    },
  },
  {
    name: "an item that was looked at before a hold was placed is not rewritten, and one that was looked at after it is",
    needs: ["transactions"],
    run: async ({ subject }) => {
      const { version } = await subject.put(["n"], "a", "before");
      const seen = await seenHoldsIn(subject);
      const hold = {
        id: "h1",
        subject: "ann",
        reason: "case 17",
        placedBy: "counsel",
        placedAt: new Date(0).toISOString(),
      };
      await putHoldIn(subject, hold);
      const entry = { namespace: ["n"], key: "a", value: "after", expectedVersion: version };
      assert.equal(await replaceUnlessHeld(subject, entry, seen), false);
      assert.equal(await subject.get(["n"], "a"), "before");
      assert.equal(await replaceUnlessHeld(subject, entry, await seenHoldsIn(subject)), true);
      assert.equal(await subject.get(["n"], "a"), "after");
      assert.equal(await subject.delete(["n"], "a"), true);
    },
  },
  {
    name: "a batch with a bad entry, or with one item twice, is refused whole",
    run: async ({ subject }) => {
      const good = { namespace: ["n"], key: "good", value: 1 };
      const bad: Readonly<Record<string, object>> = {
        "a function": { namespace: ["n"], key: "bad", value: { f: () => 1 } },
        "no value": { namespace: ["n"], key: "bad" },
        "an empty key": { namespace: ["n"], key: "", value: 1 },
        "an unknown option": { namespace: ["n"], key: "bad", value: 1, ttl: 5 },
        "the same item": { namespace: ["n"], key: "good", value: 2 },
        "a bad version": { namespace: ["n"], key: "bad", value: 1, expectedVersion: -1 },
      };
      for (const [what, entry] of Object.entries(bad)) {
        await failsWith("INVALID_ARGUMENT", () => subject.putBatch([good, entry as typeof good]), what);
      }
      assert.deepEqual(await allNames(subject), []);
    },
  },
  {
    name: "a batch that is repeated under its ids is made once",
    run: async ({ subject }) => {
      const batch = () =>
        subject.putBatch([
          { namespace: ["n"], key: "a", value: 1, writeId: "w" },
          { namespace: ["n"], key: "b", value: 1, writeId: "w" },
        ]);
      const first = await batch();
      await subject.put(["n"], "a", "theirs");
      assert.deepEqual(await batch(), first);
      assert.deepEqual(
        await subject.getBatch([
          { namespace: ["n"], key: "a" },
          { namespace: ["n"], key: "b" },
        ]),
        ["theirs", 1],
      );
    },
  },
]);
