import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { canary, fill, KEY, userOf } from "../../test/session/people.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import { sqliteStore } from "../backends/sqlite/store.ts";
import { UserStore } from "../wiring/user-store.ts";

let store: FilledStore;
let items: string;
beforeEach(async () => {
  store = await filledStore("one");
  const path = `${store.directory}/items.db`;
  items = `sqlite:${path}`;
  const checkpointer = sqliteCheckpointer({ path: `${store.directory}/agents.db` });
  const facts = sqliteStore({ path });
  const users = new UserStore({ backend: facts });
  await fill(checkpointer, facts, users, 2);
  await checkpointer.close();
  await facts.close();
});
afterEach(() => store.dispose());

const env = { ERASURE_KEY: KEY };
const erase = (...more: string[]) => {
  const ledger = ["--ledger", `sqlite:${store.directory}/ledger.db`, "--key", "env:ERASURE_KEY"];
  return holdfast(["erase", store.url, userOf(0), "--also", items, ...ledger, "--json", ...more], { env });
};

test("inventory and export-user find a person in threads and items, and change no byte", async () => {
  const before = await hashedFiles(store.directory);
  const found = await holdfast(["inventory", store.url, userOf(0), "--also", items, "-o", "ndjson"]);
  expect(found.code).toBe(0);
  const kinds = new Set(
    found.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).kind),
  );
  expect([...kinds].sort()).toEqual(["field", "item", "message", "user data"]);
  const exported = await holdfast(["export-user", store.url, userOf(0), "--also", items]);
  expect(JSON.parse(exported.stdout.split("\n")[0] ?? "").schema).toBe("holdfast.export/1");
  expect(exported.stdout).toContain(canary(0));
  expect(exported.stdout).not.toContain(canary(1));
  expect((await holdfast(["inventory", store.url, "absent", "--exit-code"])).code).toBe(1);
  expect(await hashedFiles(store.directory)).toEqual(before);
});

test("erase leaves nothing of the person and everything of the others, and its receipt is proven", async () => {
  const before = await hashedFiles(store.directory);
  expect((await erase("--dry-run")).code).toBe(0);
  expect((await erase()).code).toBe(11);
  expect(await hashedFiles(store.directory)).toEqual(before);
  const file = `${store.directory}/receipts.ndjson`;
  const done = await erase("--yes", "--reason", "asked by letter", "--receipt", file);
  const receipt = JSON.parse(done.stdout);
  expect([done.code, receipt.verified, receipt.number]).toEqual([0, true, 1]);
  expect(done.stdout + done.stderr).not.toContain(KEY);
  const left = await holdfast(["inventory", store.url, userOf(0), "--also", items, "--exit-code"]);
  expect(left.code).toBe(1);
  expect((await holdfast(["export-user", store.url, userOf(1), "--also", items])).stdout).toContain(canary(1));
  await writeFile(`${store.directory}/key.pem`, receipt.publicKey);
  const verify = (...args: string[]) => holdfast(["receipt", "verify", file, ...args], { env });
  expect((await verify("--public-key", `${store.directory}/key.pem`)).code).toBe(0);
  expect((await verify("--key", "env:ERASURE_KEY")).code).toBe(0);
  await writeFile(file, (await readFile(file, "utf8")).replace('"records":', '"records":1'));
  const forged = await verify("--key", "env:ERASURE_KEY");
  expect([forged.code, forged.stdout]).toEqual([1, expect.stringContaining("not as it was signed")]);
  await writeFile(file, "hello");
  expect((await verify("--key", "env:ERASURE_KEY")).code).toBe(2);
});

test("erase without a ledger or a key is refused, and a key on the command line is not taken", async () => {
  const argv = ["erase", store.url, userOf(0), "--yes"];
  expect((await holdfast([...argv, "--key", "env:ERASURE_KEY"], { env })).stderr).toContain("--ledger");
  expect((await holdfast([...argv, "--ledger", items])).stderr).toContain("--key env:NAME");
  const { code, stderr } = await holdfast([...argv, "--ledger", items, "--key", KEY]);
  expect([code, stderr.includes(KEY)]).toEqual([2, false]);
  expect((await holdfast(["inventory", `sqlite:${store.directory}/typo.db`, "ann"])).code).toBe(4);
});

const said = ["--by", "counsel", "--reason", "case 17", "--json"];

test("a hold is placed, listed and lifted on the command line, and stops erase and delete with the exit code 7", async () => {
  const placed = await holdfast(["hold", "place", store.url, "--subject", userOf(0), "--also", items, ...said]);
  const { id } = JSON.parse(placed.stdout);
  expect(placed.code).toBe(0);
  const refused = await erase("--yes");
  expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining(`hold lift <store> ${id}`)]);
  expect((await holdfast(["delete", store.url, "shared-0", "--yes"])).code).toBe(7);
  const listed = await holdfast(["hold", "list", store.url, "--also", items, "-o", "ndjson"]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ id, placedBy: "counsel", reason: "case 17", missingIn: [] });
  const lift = ["hold", "lift", store.url, id, "--also", items, ...said];
  expect((await holdfast([...lift, "--dry-run"])).code).toBe(0);
  expect((await holdfast(lift)).code).toBe(11);
  expect((await holdfast([...lift, "--yes"])).code).toBe(0);
  expect((await holdfast(["hold", "list", store.url, "--exit-code"])).code).toBe(1);
  expect((await erase("--yes")).code).toBe(0);
  expect((await holdfast(["hold", "place", store.url, "--subject", "a", "--threads", "b", ...said])).code).toBe(2);
});

test("retention shows what goes and why, removes it, and adds a receipt", async () => {
  const rules = `${store.directory}/rules.json`;
  await writeFile(rules, JSON.stringify([{ category: "process", threadPrefix: "shared-", keepLast: 1 }]));
  const before = await hashedFiles(store.directory);
  const retention = (...more: string[]) =>
    holdfast(["retention", store.url, "--rules", rules, "--json", ...more], { env });
  const dry = await retention("--dry-run");
  expect([dry.code, JSON.parse(dry.stdout).totals]).toEqual([0, [{ rule: 1, checkpoints: 3, threads: 0, items: 0 }]]);
  expect(await hashedFiles(store.directory)).toEqual(before);
  const ledger = ["--ledger", `sqlite:${store.directory}/ledger.db`, "--key", "env:ERASURE_KEY"];
  const done = await retention("--yes", ...ledger);
  expect([done.code, JSON.parse(done.stdout).receipt]).toMatchObject([0, { kind: "retention", number: 1 }]);
  expect(JSON.parse((await retention("--dry-run")).stdout).entries).toEqual([]);
  expect((await holdfast(["retention", store.url])).code).toBe(2);
});
