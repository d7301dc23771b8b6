import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { runs } from "../../test/property-seed.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";

let store: FilledStore;
beforeEach(async () => {
  store = await filledStore("hostile");
});
afterEach(() => store.dispose());

const exported = async (pattern = "*"): Promise<string> => (await holdfast(["export", store.url, pattern])).stdout;

/** Imports this text into a store that is not there yet. */
async function imported(text: string | Buffer, name: string) {
  const file = join(store.directory, "export.ndjson");
  await writeFile(file, text);
  const url = `sqlite:${join(store.directory, name)}`;
  return { url, ...(await holdfast(["import", url, file, "-o", "json"])) };
}

test("what was exported is imported with every checkpoint, and exported again it is the same file", async () => {
  const before = await hashedFiles(store.directory);
  const text = await exported();
  expect(await hashedFiles(store.directory)).toEqual(before);
  const { url, code, stdout } = await imported(text, "new.db");
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { threads: 6, imported: 6, failed: 0 }]);
  expect((await holdfast(["export", url])).stdout).toBe(text);
  const again = await holdfast(["import", url, "-", "-o", "json"], { typed: text });
  expect(JSON.parse(again.stdout)).toMatchObject({ imported: 0, thereAlready: 6, records: 0 });
  const [a, b] = ["agents.db", "new.db"].map((name) =>
    sqliteCheckpointer({ path: join(store.directory, name), access: "read" }),
  );
  expect((await b?.load("-x", "c3"))?.toCheckpoint()).toEqual((await a?.load("-x", "c3"))?.toCheckpoint());
  await a?.close();
  await b?.close();
});

test.each(["export", "verify", "copy"])(
  "%s of a thread that is not there says so; of a pattern, that there were 0",
  async (command) => {
    const into = command === "copy" ? [`sqlite:${join(store.directory, "copy.db")}`] : [];
    const named = await holdfast([command, store.url, ...into, "absent"]);
    expect([named.code, named.stderr]).toEqual([4, expect.stringContaining('there is no thread "absent"')]);
    expect((await holdfast([command, store.url, ...into, "absent*"])).code).toBe(0);
  },
);

test("a file that was cut off after any line is refused, and nothing is made", async () => {
  const lines = (await exported("a*")).split("\n").slice(0, -1);
  expect(lines.length).toBeGreaterThan(10);
  for (let kept = 0; kept < lines.length; kept++) {
    const { code } = await imported(
      lines
        .slice(0, kept)
        .map((line) => `${line}\n`)
        .join(""),
      "cut.db",
    );
    expect([kept, code]).toEqual([kept, 6]);
  }
  expect(Object.keys(await hashedFiles(store.directory))).not.toContain("cut.db");
});

test("a file that was cut off at any byte, or changed by any bit, is refused", async () => {
  const bytes = Buffer.from(await exported("a*"));
  const place = fc.record({ at: fc.integer({ min: 0, max: bytes.length - 2 }), bit: fc.integer({ min: 0, max: 7 }) });
  const refused = fc.asyncProperty(place, async ({ at, bit }) => {
    expect((await imported(bytes.subarray(0, at), "cut.db")).code).toBe(6);
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
    expect((await imported(flipped, "cut.db")).code).not.toBe(0);
  });
  await fc.assert(refused, runs(150));
  expect(Object.keys(await hashedFiles(store.directory))).not.toContain("cut.db");
});

test("a file that an earlier build exported is imported", async () => {
  const file = fileURLToPath(new URL("../../test/golden/cli/export.ndjson", import.meta.url));
  const url = `sqlite:${join(store.directory, "old.db")}`;
  expect((await holdfast(["import", url, file])).code).toBe(0);
  expect((await holdfast(["show", url, "trip-1", "--at", "c2", "--field", "messages.3.content"])).stdout).toBe(
    '"home"\n',
  );
});

test("an export of a newer version is told from a file that is not an export", async () => {
  const text = await exported("a*");
  expect((await imported(text.replace('"version":1', '"version":2'), "n.db")).code).toBe(9);
  expect((await imported("hello\n", "n.db")).code).toBe(6);
  expect((await holdfast(["import", store.url, join(store.directory, "none")])).code).toBe(2);
});

test("a thread of the same id that is another is reported, and the rest is imported", async () => {
  const text = await exported();
  const other = await filledStore("hostile");
  const path = join(other.directory, "agents.db");
  const checkpointer = sqliteCheckpointer({ path });
  await checkpointer.delete("-x");
  await checkpointer.delete("a\u0085b");
  await checkpointer.close();
  const { code, stdout, stderr } = await holdfast(["import", other.url, "-", "-o", "json"], { typed: text });
  expect([code, JSON.parse(stdout)]).toMatchObject([3, { imported: 2, failed: 4 }]);
  expect(stderr).toContain("CONFLICT");
  await other.dispose();
});

test("verify proves a whole store and names what is damaged", async () => {
  const whole = await holdfast(["verify", store.url]);
  expect([whole.code, whole.stdout]).toEqual([0, ""]);
  expect(whole.stderr).toContain("6 threads");
});
