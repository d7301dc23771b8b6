import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { KEPT_VALUES, REFUSED_VALUES } from "../hostile-values.ts";
import { assertSame } from "../same-value.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";
import { allNames } from "./walking.ts";

function assertRefusal(error: unknown, what: string): void {
  if (!StateError.is(error))
    throw new assert.AssertionError({ message: `${what}: expected a StateError, got ${error}` });
  assert.ok(error.code === "INVALID_ARGUMENT" || error.code === "TOO_LARGE", `${what}: ${error.code}`);
  assert.match(error.context.path ?? "", /value|metadata/, `${what}: the error says where`);
  assert.ok(error.message.length < 1000, `${what}: the error does not repeat the value`);
}

export const valueCases: readonly StoreCase[] = storeCasesOf("values", [
  {
    name: "every value of the corpus comes back as it was, or is refused before anything is written",
    run: async ({ subject }) => {
      for (const [index, { make }] of KEPT_VALUES.entries()) await subject.put(["values"], `${index}`, make());
      for (const [index, { what, make }] of KEPT_VALUES.entries()) {
        assertSame(await subject.get(["values"], `${index}`), make(), what);
      }
      for (const { what, make } of REFUSED_VALUES) {
        const put = async (): Promise<unknown> => subject.put(["refused"], "k", { value: make() });
        assertRefusal(await failureOf(put, what), what);
      }
      assert.equal(await subject.exists(["refused"], "k"), false);
    },
  },
  {
    name: "every value of the corpus comes back from the metadata, or is refused before anything is written",
    run: async ({ subject }) => {
      for (const [index, { make }] of KEPT_VALUES.entries()) {
        await subject.put(["values"], `${index}`, 1, { metadata: { value: make() } });
      }
      for (const [index, { what, make }] of KEPT_VALUES.entries()) {
        assertSame((await subject.getItem(["values"], `${index}`))?.metadata, { value: make() }, what);
      }
      for (const { what, make } of REFUSED_VALUES) {
        const put = async (): Promise<unknown> => subject.put(["refused"], "k", 1, { metadata: { value: make() } });
        assertRefusal(await failureOf(put, what), what);
      }
      assert.equal(await subject.exists(["refused"], "k"), false);
    },
  },
  {
    name: "null is a value, and only what is not there is undefined",
    run: async ({ subject }) => {
      await subject.put(["a"], "null", null);
      assert.equal(await subject.get(["a"], "null"), null);
      assert.equal(await subject.exists(["a"], "null"), true);
      assert.deepEqual(
        await subject.getBatch([
          { namespace: ["a"], key: "null" },
          { namespace: ["a"], key: "x" },
        ]),
        [null, undefined],
      );
      assert.equal(await subject.get(["a"], "x"), undefined);
      assert.equal(await subject.getItem(["b"], "null"), undefined);
      assert.equal(await subject.exists(["a"], "x"), false);
      await failsWith("INVALID_ARGUMENT", () => subject.put(["a"], "null", undefined), "a value that is undefined");
      assert.equal(await subject.get(["a"], "null"), null);
    },
  },
  {
    name: "what is changed after it was put or got does not reach the storage",
    run: async ({ subject }) => {
      const value = { list: [1], bytes: Uint8Array.of(1) };
      const metadata = { tags: ["a"] };
      const namespace = ["a"];
      await subject.put(namespace, "k", value, { metadata });
      value.list.push(2);
      value.bytes.fill(9);
      metadata.tags.push("b");
      namespace.push("b");
      const item = await subject.getItem<typeof value>(["a"], "k");
      assertSame(item?.value, { list: [1], bytes: Uint8Array.of(1) }, "value");
      assertSame(item?.metadata, { tags: ["a"] }, "metadata");
      try {
        item?.value.bytes.fill(7);
        item?.value.list.push(3);
      } catch {
        // A store may give what cannot be changed.
      }
      assertSame(await subject.get(["a"], "k"), { list: [1], bytes: Uint8Array.of(1) }, "read again");
      assert.deepEqual(await allNames(subject), ["a/k"]);
    },
  },
  {
    name: "a put replaces the item whole: value, metadata and words",
    run: async ({ subject }) => {
      await subject.put(["a"], "k", { old: "walrus" }, { metadata: { was: 1 } });
      await subject.put(["a"], "k", { new: "otter" });
      const item = await subject.getItem(["a"], "k");
      assert.deepEqual(item?.value, { new: "otter" });
      assert.deepEqual(item?.metadata, {});
      assert.deepEqual(await subject.list(["a"], { filter: { old: "walrus" } }), []);
      if (!subject.capabilities.search) return;
      assert.deepEqual(await subject.search(["a"], "walrus"), []);
      assert.equal((await subject.search(["a"], "otter")).length, 1);
    },
  },
  {
    name: "an item tells when it was made and when it was changed",
    run: async ({ subject }) => {
      const first = await subject.put(["a"], "k", 1);
      const second = await subject.put(["a"], "k", 2);
      const item = await subject.getItem(["a"], "k");
      assert.deepEqual(item?.createdAt, first.createdAt, "made once");
      assert.deepEqual(item?.updatedAt, second.updatedAt);
      assert.ok(second.updatedAt.getTime() >= first.createdAt.getTime());
      assert.ok(first.createdAt.getTime() > Date.UTC(2020, 0), "milliseconds since 1970");
      assert.equal(item?.expiresAt, undefined);
    },
  },
]);
