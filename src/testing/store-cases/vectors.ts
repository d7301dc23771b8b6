import assert from "node:assert/strict";
import type { BaseStore } from "../../store/base-store.ts";
import type { StoreHit, Vector } from "../../store/items/items.ts";
import { accessOf } from "../../store/items/store-access.ts";
import type { EmbedFunction } from "../../store/search/embedder.ts";
import { Store } from "../../store/store.ts";
import { another } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { clusteredVectors, cosineOf, nearest } from "./sample-vectors.ts";
import { type StoreCase, type StoreFixture, storeCasesOf } from "./store-case.ts";
import { allNames, keysOf } from "./walking.ts";

const NS = ["vectors"];
const VECTORS = clusteredVectors(400, 16, 10, 7);

async function putVectors({ subject }: StoreFixture): Promise<void> {
  await subject.putBatch(
    VECTORS.map((embedding, index) => ({
      namespace: NS,
      key: `v${index}`,
      value: { index, group: index % 40 },
      embedding,
    })),
  );
}

/** The store once more, with a model of that name whose vectors have three numbers. */
function embeddedBy(store: BaseStore, modelId: string | undefined): Store {
  const driver = accessOf(store)?.driver;
  assert.ok(driver !== undefined);
  const embed: EmbedFunction = async (texts) => texts.map((text) => [1, text.length, (modelId ?? "").length]);
  return new Store(driver, { embedder: modelId === undefined ? embed : Object.assign(embed, { modelId }) });
}

async function refusesModel(work: () => Promise<unknown>, what: string): Promise<void> {
  const { message } = await failsWith("INVALID_ARGUMENT", work, what);
  for (const part of [/"one"/, /"other model"/, /put its items anew/]) assert.match(message, part, what);
}

const names = (indexes: readonly number[]): readonly string[] => indexes.map((index) => `v${index}`);

export const vectorCases: readonly StoreCase[] = storeCasesOf("vectors", [
  {
    name: "the nearest vectors are found, with their cosines, best first",
    needs: ["semanticSearch"],
    run: async (fixture) => {
      await putVectors(fixture);
      for (const query of clusteredVectors(10, 16, 10, 8)) {
        const hits = await fixture.subject.searchByEmbedding(NS, { query, limit: 10 });
        assert.deepEqual(keysOf(hits), names(nearest(VECTORS, query, 10)));
        for (const { key, score } of hits) {
          const expected = cosineOf(VECTORS[Number(key.slice(1))] ?? [], query);
          assert.ok(Math.abs((score ?? 9) - expected) < 1e-5, `${key}: ${score}, expected ${expected}`);
        }
      }
      const [first] = await fixture.subject.searchByEmbedding(NS, { query: VECTORS[3] ?? [], limit: 1 });
      assert.equal(first?.key, "v3");
      assert.ok(Math.abs((first?.score ?? 0) - 1) < 1e-5, "the same direction is 1");
    },
  },
  {
    name: "a filtered search gives as many rows as there are, and the nearest of them",
    needs: ["semanticSearch"],
    run: async (fixture) => {
      await putVectors(fixture);
      const query = VECTORS[100] ?? [];
      const filters = [
        [{ group: 7 }, (index: number) => index % 40 === 7],
        [{ index: { $lt: 200 } }, (index: number) => index < 200],
        [{ index: 399 }, (index: number) => index === 399],
        [{ group: { $in: [1, 2] } }, (index: number) => [1, 2].includes(index % 40)],
      ] as const;
      for (const [filter, keep] of filters) {
        const hits = await fixture.subject.searchByEmbedding(NS, { query, limit: 15, filter });
        assert.deepEqual(keysOf(hits), names(nearest(VECTORS, query, 15, keep)), JSON.stringify(filter));
      }
      assert.deepEqual(await fixture.subject.searchByEmbedding(NS, { query, filter: { group: 99 } }), []);
      assert.equal((await fixture.subject.searchByEmbedding(NS, { query, limit: 400 })).length, 400);
      const near = await fixture.subject.searchByEmbedding(NS, { query, limit: 400, threshold: 0.5 });
      assert.equal(near.length, VECTORS.filter((vector) => cosineOf(vector, query) >= 0.5).length);
    },
  },
  {
    name: "the longest and the shortest vectors that are taken are found like any other",
    needs: ["semanticSearch"],
    run: async ({ subject }) => {
      for (const [key, scale] of Object.entries({ long: 9e14, usual: 1, short: 1.1e-15 })) {
        await subject.putWithEmbedding(NS, key, 1, [scale, 0, 0]);
        await subject.putWithEmbedding(NS, `far ${key}`, 1, [0, scale, 0]);
      }
      for (const scale of [9e14, 1, 1.1e-15]) {
        const hits = await subject.searchByEmbedding(NS, { query: [scale, 0, 0], limit: 3 });
        assert.deepEqual(keysOf(hits).toSorted(), ["long", "short", "usual"], `a query of the length ${scale}`);
        for (const { key, score } of hits) assert.ok(Math.abs((score ?? 9) - 1) < 1e-4, `${key}: ${score}`);
      }
    },
  },
  {
    name: "a search by vector stays in its namespace",
    needs: ["semanticSearch"],
    run: async ({ subject }) => {
      for (const namespace of [["u"], ["u1"], ["u", "1"], ["u10"], ["u1", "x"]]) {
        await subject.putWithEmbedding(namespace, "k", namespace.join("/"), [1, 0]);
      }
      const found = async (options: object): Promise<readonly unknown[]> =>
        (await subject.searchByEmbedding(["u1"], { query: [1, 0], ...options })).map(({ value }) => value).toSorted();
      assert.deepEqual(await found({}), ["u1", "u1/x"]);
      assert.deepEqual(await found({ recursive: false }), ["u1"]);
    },
  },
  {
    name: "a vector comes back as it was put, and goes with its item",
    needs: ["semanticSearch"],
    run: async ({ subject }) => {
      const embedding = [0.5, -0.25, 3];
      await subject.putWithEmbedding(NS, "k", { a: 1 }, { embedding, metadata: { m: 1 } });
      assert.deepEqual(await subject.getEmbedding(NS, "k"), embedding);
      assert.deepEqual((await subject.getItem(NS, "k"))?.metadata, { m: 1 });
      assert.equal(await subject.getEmbedding(NS, "none"), undefined);
      await subject.put(NS, "k", { a: 2 });
      assert.equal(await subject.getEmbedding(NS, "k"), undefined, "a put without a vector has none");
      assert.deepEqual(await subject.searchByEmbedding(NS, { query: embedding }), []);
      await subject.putWithEmbedding(NS, "k", { a: 3 }, Float32Array.from([1, 2, 3]));
      assert.deepEqual(await subject.getEmbedding(NS, "k"), [1, 2, 3]);
      await subject.delete(NS, "k");
      await subject.put(NS, "k", { a: 4 }, { index: false });
      assert.equal(await subject.getEmbedding(NS, "k"), undefined, "a deleted item's vector does not come back");
      assert.deepEqual(await subject.searchByEmbedding(NS, { query: embedding }), []);
      await subject.putWithEmbedding(NS, "k", { a: 3 }, [1, 2, 3]);
      await subject.clearNamespace(NS);
      assert.deepEqual(await subject.searchByEmbedding(NS, { query: embedding }), []);
    },
  },
  {
    name: "anything but a vector of the store's dimension is refused, and nothing is written",
    needs: ["semanticSearch"],
    run: async ({ subject }) => {
      await subject.putWithEmbedding(NS, "good", 1, [1, 2, 3]);
      const bad: Readonly<Record<string, unknown>> = {
        "two numbers": [1, 2],
        "four numbers": [1, 2, 3, 4],
        "no numbers": [],
        NaN: [1, Number.NaN, 3],
        Infinity: [1, 2, Number.POSITIVE_INFINITY],
        "infinite with single precision": [1, 2, 1e39],
        zeros: [0, 0, 0],
        "longer than products can be": [1e30, 0, 0],
        "shorter than products can be": [1e-30, 1e-30, 0],
        "minus zero": [-0, 0, 0],
        "zero with single precision": [1e-60, 0, 0],
        texts: ["1", "2", "3"],
        nulls: [null, 1, 2],
        holes: Object.assign([1, 2], { length: 3 }),
        "a text": "[1,2,3]",
        "an object": { 0: 1, 1: 2, 2: 3, length: 3 },
        bytes: Uint8Array.of(1, 2, 3),
      };
      for (const [what, given] of Object.entries(bad)) {
        const embedding = given as Vector;
        await failsWith("INVALID_ARGUMENT", () => subject.putWithEmbedding(NS, "bad", 1, { embedding }), `put ${what}`);
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.searchByEmbedding(NS, { query: embedding }),
          `search ${what}`,
        );
        const batch = [
          { namespace: NS, key: "fine", value: 1 },
          { namespace: NS, key: "bad", value: 1, embedding },
        ];
        await failsWith("INVALID_ARGUMENT", () => subject.putBatch(batch), `batch ${what}`);
      }
      assert.deepEqual(await allNames(subject), ["vectors/good"]);
      assert.equal(subject.capabilities.embeddingDimension, 3);
    },
  },
  {
    name: "the first vectors of a store, put together, have one length or are refused",
    needs: ["semanticSearch"],
    run: async ({ subject }) => {
      const batch = [
        [1, 2, 3],
        [1, 2],
      ].map((embedding, index) => ({ namespace: NS, key: `v${index}`, value: index, embedding }));
      await failsWith("INVALID_ARGUMENT", () => subject.putBatch(batch), "two lengths");
      assert.deepEqual(await allNames(subject), []);
    },
  },
  {
    name: "another instance takes the dimension from what is stored",
    needs: ["semanticSearch", "reopen"],
    run: async ({ subject, reopen }) => {
      await subject.putWithEmbedding(NS, "k", 1, [1, 2, 3]);
      const other = await reopen?.();
      assert.ok(other !== undefined);
      await failsWith("INVALID_ARGUMENT", () => other.putWithEmbedding(NS, "x", 1, [1, 2]), "another length");
      await failsWith("INVALID_ARGUMENT", () => other.searchByEmbedding(NS, { query: [1, 2] }), "another length");
      assert.deepEqual(keysOf(await other.searchByEmbedding(NS, { query: [1, 2, 3] })), ["k"]);
    },
  },
  {
    name: "an embedder of another name is refused where vectors are, though theirs have the same length",
    needs: ["semanticSearch", "reopen", "driver"],
    run: async (fixture) => {
      const one = embeddedBy(fixture.subject, "one");
      await one.putBatch(["a", "b"].map((key) => ({ namespace: NS, key, value: `text ${key}` })));
      assert.equal((await one.search(NS, { query: "text", mode: "semantic" })).length, 2);
      const there = await another(fixture);
      const other = embeddedBy(there, "other model");
      await refusesModel(() => other.put(NS, "c", "text c"), "a put");
      await refusesModel(() => other.putBatch([{ namespace: NS, key: "c", value: "text c" }]), "a batch");
      await refusesModel(() => other.search(NS, { query: "text", mode: "semantic" }), "a search by meaning");
      await refusesModel(() => other.search(NS, { query: "text" }), "a hybrid search");
      assert.equal(await other.exists(NS, "c"), false);
      assert.equal(
        (await other.search(NS, { query: "text", mode: "text" })).length,
        2,
        "a search by words needs no model",
      );
      await other.put(NS, "d", "no words", { index: false });
      // The same model in another process, a function without a name, and vectors that a caller brings.
      for (const modelId of ["one", undefined]) {
        const same = embeddedBy(there, modelId);
        await same.put(NS, `by ${modelId}`, "text e");
        await same.putWithEmbedding(NS, `own ${modelId}`, 1, [1, 2, 3]);
        assert.ok((await same.search(NS, { query: "text", mode: "semantic" })).length >= 4);
      }
    },
  },
  {
    name: "the model of a store whose vectors are all gone is that of the next ones",
    needs: ["semanticSearch", "reopen", "driver"],
    run: async (fixture) => {
      const one = embeddedBy(fixture.subject, "one");
      await one.put(NS, "a", "text");
      await one.clearNamespace(NS);
      const other = embeddedBy(await another(fixture), "other model");
      assert.deepEqual(await other.search(NS, { query: "text", mode: "semantic" }), []);
      await other.put(NS, "b", "text");
      // A process that has been there all the time, and one that comes.
      for (const late of [one, embeddedBy(await another(fixture), "one")]) {
        for (const work of [
          () => late.put(NS, "c", "text"),
          () => late.search(NS, { query: "text", mode: "semantic" }),
        ]) {
          const failure = await failsWith("INVALID_ARGUMENT", work, "the model from before");
          assert.match(failure.message, /come from the embedding model "other model"/);
        }
      }
      await other.clearNamespace(NS);
      await one.put(NS, "d", "text");
      assert.deepEqual(keysOf(await one.search(NS, { query: "text", mode: "semantic" })), ["d"]);
      await failsWith("INVALID_ARGUMENT", () => other.put(NS, "e", "text"), "the model that was there in between");
    },
  },
  {
    name: "of two models that embed the first items of a store at once, one is refused",
    needs: ["semanticSearch", "transactions", "ttl", "reopen", "driver"],
    run: async (fixture) => {
      for (let round = 0; round < 5; round++) {
        const stores = ["one", "other model"].map(async (name) => embeddedBy(await another(fixture), name));
        const [one, other] = await Promise.all(stores);
        assert.ok(one !== undefined && other !== undefined);
        await Promise.all([one.get(NS, "k"), other.get(NS, "k")]);
        const outcomes = await Promise.allSettled([one.put(NS, "v0", "text"), other.put(NS, "v1", "text")]);
        const codes = outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.code);
        assert.deepEqual(codes.toSorted(), ["INVALID_ARGUMENT", false], "one of the two models is the store's");
        assert.deepEqual(keysOf(await one.list(NS)), [`v${codes.indexOf(false)}`]);
        await one.clearNamespace(NS);
      }
    },
  },
  {
    name: "of two instances whose first vectors have different lengths, one is refused, however close they are",
    needs: ["semanticSearch", "transactions", "ttl", "reopen"],
    run: async ({ subject, reopen }) => {
      for (let round = 0; round < 5; round++) {
        const stores = [await reopen?.(), await reopen?.()];
        const puts = stores.map(async (store, index) => {
          assert.ok(store !== undefined);
          // Connected before, so that they meet.
          await store.get(NS, "k");
          return store.putWithEmbedding(NS, `v${index}`, index, index === 0 ? [1, 2, 3] : [1, 2, 3, 4]);
        });
        const outcomes = await Promise.allSettled(puts);
        const codes = outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.code);
        assert.deepEqual(codes.toSorted(), ["INVALID_ARGUMENT", false], "one of the two lengths is the store's");
        assert.deepEqual(await allNames(subject), [`vectors/v${codes.indexOf(false)}`], "and nothing else is there");
        await subject.clearNamespace(NS);
      }
    },
  },
  {
    name: "a search by vector that ran before the storage went back in time finds the present items, and nothing that was lost",
    needs: ["semanticSearch", "copy"],
    run: async (fixture) => {
      const { subject, copy } = fixture;
      const other = fixture.reopen === undefined ? subject : await another(fixture);
      const put = (store: BaseStore, key: string, embedding: Vector) =>
        store.putWithEmbedding(NS, key, { key }, { embedding });
      for (let index = 0; index < 20; index++) await put(subject, `k${index}`, [1, 2, 10 + index]);
      const nearest = async () =>
        (await subject.searchByEmbedding(NS, { query: [1, 0, 0], limit: 3 })).map(({ key }) => key);
      for (let times = 0; times < 3; times++) assert.deepEqual(await nearest(), ["k0", "k1", "k2"]);
      const restore = await copy?.();
      await put(subject, "lost", [1, 0, 0]);
      await put(subject, "k5", [1, 0.1, 0]);
      await put(subject, "k6", [1, 0.2, 0]);
      assert.deepEqual(await nearest(), ["lost", "k5", "k6"]);
      await restore?.();
      await put(other, "k7", [1, 0, 0]);
      await put(other, "theirs", [1, 0.1, 0]);
      await put(other, "k5", [1, 2, 9]);
      assert.deepEqual(await nearest(), ["k7", "theirs", "k5"]);
      assert.deepEqual(await subject.getEmbedding(NS, "k6"), [1, 2, 16]);
    },
  },
  {
    name: "a search by vector that is asked again sees what another instance put, changed and removed since",
    needs: ["semanticSearch", "reopen"],
    run: async ({ subject, reopen }) => {
      const other = await reopen?.();
      assert.ok(other !== undefined);
      const there = new Map<string, { readonly embedding: readonly number[]; readonly group: number }>();
      const query = VECTORS[0] ?? [];
      for (const [step, embedding] of VECTORS.slice(0, 48).entries()) {
        const [writer, reader]: readonly BaseStore[] = step % 2 === 0 ? [other, subject] : [subject, other];
        assert.ok(writer !== undefined && reader !== undefined);
        // Some keys come again, with other vectors and groups; some go, or lose their vectors.
        const [key, group] = [`k${(step * 7) % 20}`, step % 3];
        if (step % 5 === 4) {
          await writer.delete(NS, key);
          there.delete(key);
        } else if (step % 11 === 10) {
          await writer.put(NS, key, { group });
          there.delete(key);
        } else {
          await writer.putWithEmbedding(NS, key, { group }, embedding);
          there.set(key, { embedding, group });
        }
        for (const filter of [undefined, { group: 1 }]) {
          const kept = [...there].filter(([, item]) => filter === undefined || item.group === filter.group);
          const order = nearest(
            kept.map(([, item]) => item.embedding),
            query,
            5,
          );
          const options = { query, limit: 5, ...(filter !== undefined && { filter }) };
          const hits: readonly StoreHit[] = await reader.searchByEmbedding(NS, options);
          assert.deepEqual(
            keysOf(hits),
            order.map((index) => kept[index]?.[0]),
            `step ${step}`,
          );
          for (const { value } of hits) assert.ok(filter === undefined || (value as { group: number }).group === 1);
        }
      }
    },
  },
]);
