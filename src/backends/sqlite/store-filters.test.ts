import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openDatabase } from "./open-file.ts";
import { sqliteStore } from "./store.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-filters-"));
afterAll(() => rm(folder, { recursive: true }));

test.each(["value", "value_fields"])(
  "an item with a damaged %s is named by a list with a filter, and does not fail the list",
  async (column) => {
    const path = join(folder, `${column}.db`);
    const store = sqliteStore({ path });
    const entry = (key: string) => ({
      namespace: ["a"],
      key,
      value: { text: "zebra", list: [1], n: 1 },
      embedding: [1, 0],
    });
    await store.putBatch(["bad", "good", "other"].map(entry));
    const database = await openDatabase(path);
    database.prepare(`UPDATE holdfast_items SET ${column} = ? WHERE key = 'bad'`).run('{"n":1,"te');
    database.close();
    for (const filter of [{ n: 1 }, { n: { $ne: 2 } }, { 'a"b': { $exists: false } }]) {
      for (const page of [
        await store.list(["a"], { filter }),
        await store.search(["a"], { query: "zebra", filter }),
        await store.searchByEmbedding(["a"], { query: [1, 0], filter }),
      ]) {
        expect(page.map(({ key }) => key).sort()).toEqual(["good", "other"]);
        expect(page.warnings).toMatchObject([{ code: "CORRUPT", message: expect.stringContaining('"bad"') }]);
      }
    }
    // By now the vectors are kept in this process, with the fields that filters asked for.
    expect(
      (await store.searchByEmbedding(["a"], { query: [1, 0], filter: { n: 1 } })).map(({ key }) => key).sort(),
    ).toEqual(["good", "other"]);
    await store.close();
  },
);
