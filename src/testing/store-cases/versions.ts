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
    name: "every write gives another version, and the item has that of the last one",
    run: async ({ subject }) => {
      const versions = new Set<string>();
      for (const value of ["a", "b", "a"]) versions.add((await subject.put(NS, "k", value)).version);
      const { version } = await subject.put(NS, "k", "a");
      assert.equal((await subject.getItem(NS, "k"))?.version, version);
      assert.equal((await subject.list(NS))[0]?.version, version);
      versions.add(version).add((await subject.put(NS, "other", "a")).version);
      assert.equal(versions.size, 5);
    },
  },
  {
    name: "a put or delete that expects another version is refused, and changes nothing",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      const { version } = await subject.put(NS, "k", "a", { expectedVersion: null });
      for (const expectedVersion of [null, "1", `${version}x`.slice(1)]) {
        const refused = () => subject.put(NS, "k", "b", { expectedVersion });
        const failure = await failsWith("CONFLICT", refused, `a put that expects ${expectedVersion}`);
        assert.equal(failure.context.actual, version);
        await failsWith("CONFLICT", () => subject.delete(NS, "k", { expectedVersion }), "a delete");
      }
      await failsWith("CONFLICT", () => subject.put(NS, "none", 1, { expectedVersion: version }), "a put of nothing");
      assert.equal(await subject.exists(NS, "none"), false);
      assert.equal(await subject.get(NS, "k"), "a");
      const next = await subject.put(NS, "k", "b", { expectedVersion: version });
      await failsWith("CONFLICT", () => subject.delete(NS, "k", { expectedVersion: version }), "a late delete");
      assert.equal(await subject.delete(NS, "k", { expectedVersion: next.version }), true);
    },
  },
  {
    name: "a version of an item that was deleted never comes again",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      await subject.put(NS, "k", "a");
      const { version } = await subject.put(NS, "k", "b");
      await subject.delete(NS, "k");
      const late = () => subject.put(NS, "k", "late", { expectedVersion: version });
      for (const value of ["c", "d"]) {
        await subject.put(NS, "k", value);
        await failsWith("CONFLICT", late, `a late writer, where ${value} is`);
      }
      await subject.clearNamespace(NS);
      for (const value of ["e", "f"]) {
        await subject.put(NS, "k", value);
        await failsWith("CONFLICT", late, `a late writer after clearing, where ${value} is`);
      }
    },
  },
  {
    name: "of writers that expect the same version one wins, and the others are told",
    needs: ["compareAndSet"],
    run: async (fixture) => {
      const stores = [fixture.subject, fixture.reopen === undefined ? fixture.subject : await another(fixture)];
      const versions: (string | null)[] = [null];
      for (let round = 0; round < 5; round++) {
        const expected = versions.at(-1) ?? null;
        const attempts = Array.from({ length: 8 }, async (_, index) => {
          const store = stores[index % 2] ?? fixture.subject;
          return store.put(NS, "k", `${round} ${index}`, { expectedVersion: expected }).then(
            () => index,
            (error: unknown) => {
              if (!StateError.is(error, "CONFLICT")) throw error;
              return undefined;
            },
          );
        });
        const winners = (await Promise.all(attempts)).filter((index) => index !== undefined);
        assert.equal(winners.length, 1, `round ${round}: ${winners.length} winners`);
        const item = await fixture.subject.getItem(NS, "k");
        assert.equal(item?.value, `${round} ${winners[0]}`);
        versions.push(item?.version ?? null);
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
    },
  },
  {
    name: "an update gives what it wrote, keeps the metadata, and removes where it makes undefined",
    needs: ["compareAndSet"],
    run: async ({ subject }) => {
      await subject.put(NS, "k", { n: 1 }, { metadata: { of: "u1" } });
      const item = await subject.update<{ n: number }>(NS, "k", (value) => ({ n: (value?.n ?? 0) + 1 }));
      assert.deepEqual([item?.value, item?.metadata], [{ n: 2 }, { of: "u1" }]);
      assert.equal(item?.version, (await subject.getItem(NS, "k"))?.version);
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
      const first = await subject.put(NS, "k", "mine", { writeId: "w1", expectedVersion: null });
      await other.put(NS, "k", "theirs");
      const repeated = await other
        .put(NS, "k", "mine", { writeId: "w1", expectedVersion: null })
        .catch((error: unknown) => assert.fail(`the repeated write was refused: ${error}`));
      assert.deepEqual(repeated, first, "the answer of the first time");
      assert.equal(await subject.get(NS, "k"), "theirs");
      const later = await subject.put(NS, "k", "mine", { writeId: "w1" });
      assert.deepEqual(later, first, "also without an expectation");
      assert.equal(await subject.get(NS, "k"), "theirs");
      assert.notEqual((await subject.put(NS, "j", "mine", { writeId: "w1" })).version, first.version, "another item's");
      assert.equal(await subject.get(NS, "j"), "mine");
    },
  },
  {
    name: "a write under the id of another write is refused, whatever it expects, and changes nothing",
    needs: ["compareAndSet"],
    run: async (fixture) => {
      const { subject } = fixture;
      const other = fixture.reopen === undefined ? subject : await another(fixture);
      const { version } = await subject.put(NS, "k", "mine", { writeId: "w1", metadata: { of: 1 } });
      const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
        "another value": () => other.put(NS, "k", "theirs", { writeId: "w1", metadata: { of: 1 } }),
        "a value and what it expects": () =>
          other.put(NS, "k", "theirs", { writeId: "w1", metadata: { of: 1 }, expectedVersion: version }),
        "other metadata": () => other.put(NS, "k", "mine", { writeId: "w1", metadata: { of: 2 } }),
        "no words": () => other.put(NS, "k", "mine", { writeId: "w1", metadata: { of: 1 }, index: false }),
        "a delete": () => other.delete(NS, "k", { writeId: "w1" }),
      };
      for (const [what, attempt] of Object.entries(attempts)) {
        const failure = await failsWith("CONFLICT", attempt, what);
        assert.equal(failure.context.written, "no", what);
      }
      assert.equal((await subject.getItem(NS, "k"))?.version, version);
      await subject.delete(NS, "k", { writeId: "w2" });
      await failsWith("CONFLICT", () => other.put(NS, "k", "theirs", { writeId: "w2" }), "a put after a delete");
      assert.equal(await subject.exists(NS, "k"), false);
    },
  },
  {
    name: "in a storage that went back in time, the version of a lost write is no other writer's",
    needs: ["compareAndSet", "copy"],
    run: async (fixture) => {
      const { subject, copy } = fixture;
      const other = fixture.reopen === undefined ? subject : await another(fixture);
      const isThere = ["item", "deleted"];
      for (const key of isThere) await subject.put(NS, key, "kept");
      const restore = await copy?.();
      const lost = new Map<string, string>();
      for (const key of [...isThere, "new"]) {
        await subject.put(NS, key, "lost");
        lost.set(key, (await subject.put(NS, key, "lost too")).version);
      }
      await subject.delete(NS, "deleted");
      await restore?.();
      for (const [key, expectedVersion] of lost) {
        await other.put(NS, key, "theirs");
        await other.put(NS, key, "theirs, later");
        const late: Readonly<Record<string, () => Promise<unknown>>> = {
          put: () => subject.put(NS, key, "late", { expectedVersion }),
          delete: () => subject.delete(NS, key, { expectedVersion }),
          putBatch: () => subject.putBatch([{ namespace: NS, key, value: "late", expectedVersion }]),
        };
        for (const [name, attempt] of Object.entries(late)) await failsWith("CONFLICT", attempt, `${name} of ${key}`);
        assert.equal(await subject.get(NS, key), "theirs, later");
      }
    },
  },
  {
    name: "an update during which the storage goes back in time is made of what another writer left there",
    needs: ["compareAndSet", "copy"],
    run: async (fixture) => {
      const { subject, copy } = fixture;
      const other = fixture.reopen === undefined ? subject : await another(fixture);
      await subject.put(NS, "k", ["kept"]);
      const restore = await copy?.();
      await subject.put(NS, "k", ["lost"]);
      let isBack = false;
      await subject.update<readonly string[]>(NS, "k", async (list = []) => {
        if (!isBack) {
          isBack = true;
          await restore?.();
          await other.put(NS, "k", ["theirs"]);
        }
        return [...list, "mine"];
      });
      assert.deepEqual(await other.get(NS, "k"), ["theirs", "mine"]);
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
