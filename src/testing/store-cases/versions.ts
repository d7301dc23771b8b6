import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import { another } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { type StoreCase, storeCasesOf } from "./store-case.ts";

const NS = ["limits"];

/** Long enough for all others to have read. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

export const versionCases: readonly StoreCase[] = storeCasesOf("versions", [
  {
    name: "the first version is 1, and each write counts one on",
    run: async ({ subject }) => {
      assert.equal((await subject.put(NS, "k", "a")).version, 1);
      assert.equal((await subject.put(NS, "k", "b")).version, 2);
      assert.equal((await subject.getItem(NS, "k"))?.version, 2);
      assert.equal((await subject.put(NS, "other", "a")).version, 1);
    },
  },
  {
    name: "a put or delete that expects another version is refused, and changes nothing",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      const { version } = await subject.put(NS, "k", "a", { expectedVersion: 0 });
      for (const expectedVersion of [0, version + 1, version + 1000]) {
        const refused = () => subject.put(NS, "k", "b", { expectedVersion });
        const failure = await failsWith("CONFLICT", refused, `a put that expects ${expectedVersion}`);
        assert.equal(failure.context.actual, String(version));
        await failsWith("CONFLICT", () => subject.delete(NS, "k", { expectedVersion }), "a delete");
      }
      await failsWith("CONFLICT", () => subject.put(NS, "none", 1, { expectedVersion: 1 }), "a put of nothing");
      assert.equal(await subject.exists(NS, "none"), false);
      assert.equal(await subject.get(NS, "k"), "a");
      assert.equal((await subject.put(NS, "k", "b", { expectedVersion: version })).version, version + 1);
      assert.equal(await subject.delete(NS, "k", { expectedVersion: version + 1 }), true);
    },
  },
  {
    name: "a version of an item that was deleted never comes again",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      await subject.put(NS, "k", "a");
      const { version } = await subject.put(NS, "k", "b");
      await subject.delete(NS, "k");
      const again = await subject.put(NS, "k", "c");
      assert.ok(again.version > version, `${again.version} comes after ${version}`);
      await failsWith("CONFLICT", () => subject.put(NS, "k", "late", { expectedVersion: version }), "a late writer");
      await subject.clearNamespace(NS);
      assert.ok((await subject.put(NS, "k", "d")).version > again.version, "after clearing");
    },
  },
  {
    name: "of writers that expect the same version one wins, and the others are told",
    needs: ["compareAndSet"],
    run: async (fixture) => {
      const stores = [fixture.subject, fixture.reopen === undefined ? fixture.subject : await another(fixture)];
      for (let round = 0; round < 5; round++) {
        const attempts = Array.from({ length: 8 }, async (_, index) => {
          const store = stores[index % 2] ?? fixture.subject;
          return store.put(NS, "k", `${round} ${index}`, { expectedVersion: round }).then(
            () => index,
            (error: unknown) => {
              if (!StateError.is(error, "CONFLICT")) throw error;
              return undefined;
            },
          );
        });
        const winners = (await Promise.all(attempts)).filter((index) => index !== undefined);
        assert.equal(winners.length, 1, `round ${round}: ${winners.length} winners`);
        assert.equal(await fixture.subject.get(NS, "k"), `${round} ${winners[0]}`);
      }
    },
  },
  {
    name: "updates by many at once are all there, each once",
    needs: ["compareAndSet"],
    run: async (fixture) => {
      const stores = [fixture.subject, fixture.reopen === undefined ? fixture.subject : await another(fixture)];
      const count = (index: number): Promise<unknown> =>
        (stores[index % 2] ?? fixture.subject).update<number>(NS, "count", async (n = 0) => {
          // Other readers see the same number meanwhile, so they do compete.
          await turn();
          return n + 1;
        });
      await Promise.all(Array.from({ length: 30 }, (_, index) => count(index)));
      assert.equal(await fixture.subject.get(NS, "count"), 30);
      assert.equal((await fixture.subject.getItem(NS, "count"))?.version, 30);
    },
  },
  {
    name: "an update gives what it wrote, keeps the metadata, and removes where it makes undefined",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      await subject.put(NS, "k", { n: 1 }, { metadata: { of: "u1" } });
      const item = await subject.update<{ n: number }>(NS, "k", (value) => ({ n: (value?.n ?? 0) + 1 }));
      assert.deepEqual([item?.value, item?.metadata, item?.version], [{ n: 2 }, { of: "u1" }, 2]);
      assert.equal(await subject.update(NS, "k", () => undefined), undefined);
      assert.equal(await subject.exists(NS, "k"), false);
      assert.equal(await subject.update(NS, "k", () => undefined), undefined);
      const failing = () =>
        subject.update(NS, "k", () => {
          throw new RangeError("no");
        });
      await assert.rejects(failing, RangeError);
      assert.equal(await subject.exists(NS, "k"), false);
    },
  },
  {
    name: "a write that is repeated under its id is made once, whatever came between",
    needs: ["compareAndSet"],
    run: async (fixture) => {
      const { subject } = fixture;
      const other = fixture.reopen === undefined ? subject : await another(fixture);
      const first = await subject.put(NS, "k", "mine", { writeId: "w1", expectedVersion: 0 });
      await other.put(NS, "k", "theirs");
      const repeated = await other
        .put(NS, "k", "mine", { writeId: "w1", expectedVersion: 0 })
        .catch((error: unknown) => assert.fail(`the repeated write was refused: ${error}`));
      assert.deepEqual(repeated, first, "the answer of the first time");
      assert.equal(await subject.get(NS, "k"), "theirs");
      const later = await subject.put(NS, "k", "mine", { writeId: "w1" });
      assert.deepEqual(later, first, "also without an expectation");
      assert.equal(await subject.get(NS, "k"), "theirs");
      assert.equal((await subject.put(NS, "j", "mine", { writeId: "w1" })).version, 1, "another item's write");
      assert.equal(await subject.get(NS, "j"), "mine");
    },
  },
  {
    name: "a delete that is repeated under its id takes nothing new away",
    run: async ({ subject }) => {
      await subject.put(NS, "k", "old");
      assert.equal(await subject.delete(NS, "k", { writeId: "d1" }), true);
      await subject.put(NS, "k", "new");
      assert.equal(await subject.delete(NS, "k", { writeId: "d1" }), true, "the answer of the first time");
      assert.equal(await subject.get(NS, "k"), "new");
      assert.equal(await subject.delete(NS, "none", { writeId: "d2" }), false);
    },
  },
  {
    name: "an update that is repeated under its id counts once",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      const count = () => subject.update<number>(NS, "n", (n = 0) => n + 1, { writeId: "u1" });
      assert.equal((await count())?.value, 1);
      await subject.update<number>(NS, "n", (n = 0) => n + 10);
      assert.equal((await count())?.value, 11, "what is there now");
      assert.equal(await subject.get(NS, "n"), 11);
    },
  },
]);
