import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { type FilledStore, filledStore, HOSTILE_TEXTS } from "../../test/cli/filled-stores.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { sqliteStore } from "../backends/sqlite/store.ts";
import type { Memory } from "../memory/memory.ts";
import { namespaceOf, namespaceText } from "./item-listing.ts";

let store: FilledStore;
beforeEach(async () => {
  store = await filledStore("one");
  const items = sqliteStore({ path: `${store.directory}/agents.db` });
  await items.put(["users", "ann"], "seat", { text: "window seat" }, { metadata: { from: "trip-1" } });
  await items.put(["users", "a/b%"], "seat", { text: "aisle seat", when: new Date(0) });
  for (const [at, text] of HOSTILE_TEXTS.slice(0, 6).entries()) await items.put(["hostile"], `k${at}`, { text });
  const provenance = { threadId: "trip-1", checkpointId: "c1", message: { index: 0, role: "user" as const } };
  const fact: Partial<Memory> = { id: "m1", type: "user", text: "Ann likes tea", status: "active", validFrom: 0 };
  const memory = { ...fact, pinned: false, provenance: { ...provenance, quote: "tea", extractor: "x", at: 0 } };
  await items.put(["memory", "users", "ann", "facts"], "m1", memory);
  await items.put(["memory", "users", "ann", "facts"], "m2", { ...memory, text: "Ann is away", status: "ended" });
  await items.put(["memory", "users", "ann", "pending"], "p1", { text: "Ann is 7" });
  await items.close();
});
afterEach(() => store.dispose());

const lines = async (...argv: string[]) => {
  const { code, stdout, stderr } = await holdfast(argv);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.trim().split("\n");
};

test("namespaces are written with slashes, and every one can be pasted back", async () => {
  const found = await lines("store", "namespaces", store.url, "-o", "id");
  expect(found).toContain("users/a%2Fb%25");
  for (const text of found) {
    expect(namespaceText(namespaceOf(text))).toBe(text);
    expect((await lines("store", "items", store.url, text, "-o", "ndjson")).length).toBeGreaterThan(0);
  }
  expect(await lines("store", "namespaces", store.url, "users", "-o", "id")).toHaveLength(2);
  expect((await holdfast(["store", "items", store.url, "a//b"])).code).toBe(2);
});

test("items are listed, got and found by words, with what JSON lacks tagged; a truncated list says so", async () => {
  expect(await lines("store", "items", store.url, "users", "-r", "-o", "id")).toHaveLength(2);
  expect((await lines("store", "items", store.url, "--all", "-o", "id")).length).toBe(11);
  const cut = await holdfast(["store", "items", store.url, "--limit", "2"]);
  expect(cut.stderr).toContain("more: --cursor ");
  const one = await holdfast(["store", "get", store.url, "users/a%2Fb%25", "seat", "--json"]);
  expect(JSON.parse(one.stdout)).toMatchObject({
    key: "seat",
    version: expect.any(String),
    value: { text: "aisle seat" },
  });
  expect((await holdfast(["store", "get", store.url, "users/ann", "nothing"])).code).toBe(4);
  const hits = await lines("store", "search", store.url, "/", "window", "seat", "-o", "ndjson");
  expect(JSON.parse(hits[0] ?? "")).toMatchObject({ namespace: ["users", "ann"], key: "seat" });
  expect((await holdfast(["store", "search", store.url, "/", "badger", "--exit-code"])).code).toBe(1);
});

test("memories are what holds, with the thread that each is from; --ended shows what held once", async () => {
  const [row, ...more] = await lines("memories", store.url);
  expect([row?.split("\t").slice(0, 3), more]).toEqual([["users/ann", "Ann likes tea", "user"], []]);
  expect(row).toContain("trip-1");
  expect(await lines("memories", store.url, "ann", "--ended", "-o", "id")).toEqual(["m1", "m2"]);
  expect(await lines("memories", store.url, "bob", "-o", "id")).toEqual([""]);
});

test("looking at items changes no byte, escapes what a terminal would obey, and makes no store", async () => {
  const before = await hashedFiles(store.directory);
  for (const argv of [
    ["store", "namespaces", store.url],
    ["store", "items", store.url, "hostile"],
    ["store", "get", store.url, "hostile", "k0"],
    ["store", "search", store.url, "/", "clipboard"],
    ["memories", store.url],
  ]) {
    const { code, stdout, stderr } = await holdfast(argv, { terminal: true });
    expect([argv.join(" "), code]).toEqual([argv.join(" "), 0]);
    const plain = `${stdout}${stderr}`.replaceAll("\u001b[1m", "").replaceAll("\u001b[22m", "");
    expect(plain).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  }
  expect((await holdfast(["store", "items", `sqlite:${store.directory}/typo.db`])).code).toBe(4);
  expect((await holdfast(["store", "items", "opensearch://127.0.0.1:1/threads"])).code).toBe(9);
  expect((await holdfast(["store", "items", `file:${store.directory}/typo`])).code).toBe(4);
  expect(await hashedFiles(store.directory)).toEqual(before);
});
