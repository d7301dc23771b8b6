import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { describeWithService } from "../../test/services/with-service.ts";
import { openCheckpointer } from "../backends/open.ts";
import { sqliteDdl } from "../backends/sqlite/ddl.ts";
import { openFile } from "../backends/sqlite/open-file.ts";

let directory: string;
let url: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-migrate-"));
  url = `sqlite:${join(directory, "a.db")}`;
});
afterEach(() => rm(directory, { recursive: true }));

const check = async (store: string) => {
  const { code, stdout } = await holdfast(["migrate", store, "--json"]);
  return [code, JSON.parse(stdout).items.map(({ part, version }: Record<string, unknown>) => [part, version])];
};

test("migrate says what is due with 1, prints exactly what is executed, and changes nothing until --apply", async () => {
  expect(await check(url)).toEqual([
    1,
    [
      ["checkpoints", 0],
      ["store", 0],
    ],
  ]);
  const printed = await holdfast(["migrate", url, "--print", "--json"]);
  expect(JSON.parse(printed.stdout).statements).toEqual(sqliteDdl());
  expect((await holdfast(["migrate", url, "--apply", "--dry-run", "--json"])).stdout).toEqual(printed.stdout);
  expect(await hashedFiles(directory)).toEqual({});
  expect((await holdfast(["migrate", url, "--apply"])).code).toBe(0);
  expect(await check(url)).toEqual([
    0,
    [
      ["checkpoints", 1],
      ["store", 1],
    ],
  ]);
  const before = await hashedFiles(directory);
  expect((await holdfast(["migrate", url, "--print"])).stderr).toBe("the tables are up to date\n");
  expect(await hashedFiles(directory)).toEqual(before);
});

test("of a store that is there only the parts that it has are looked at, or those that are named", async () => {
  const checkpointer = await openCheckpointer(url);
  await checkpointer.listThreads();
  await checkpointer.close();
  expect(await check(url)).toEqual([0, [["checkpoints", 1]]]);
  expect((await holdfast(["migrate", url, "--parts", "checkpoints,store"])).code).toBe(1);
  expect((await holdfast(["migrate", url, "--parts", "nonsense"])).code).toBe(2);
  expect((await holdfast(["migrate", url, "--print", "--apply"])).code).toBe(2);
});

test("tables of a newer build are refused with 9 and left alone", async () => {
  expect((await holdfast(["migrate", url, "--apply"])).code).toBe(0);
  const { database } = await openFile(join(directory, "a.db"));
  database.exec("UPDATE holdfast_schema SET version = 99");
  database.close();
  for (const args of [["--check"], ["--apply"], ["--print"]]) {
    const { code, stderr } = await holdfast(["migrate", url, ...args]);
    expect([code, stderr]).toEqual([9, expect.stringContaining("this build knows up to 1")]);
  }
});

test("a storage without tables has nothing to migrate", async () => {
  const { code, stderr } = await holdfast(["migrate", `file:${directory}`, "--apply"]);
  expect([code, stderr]).toEqual([0, "Files has no tables: there is nothing to migrate\n"]);
});

test("a server that does not answer is 8, and its password is in no output", async () => {
  const env = { STORE: "postgres://ann:s3cret-word@127.0.0.1:1/agents" };
  const { code, stdout, stderr } = await holdfast(["migrate", "env:STORE", "--debug"], { env });
  expect(code).toBe(8);
  expect(stdout + stderr).not.toContain("s3cret-word");
});

await describeWithService("postgres", (server) => {
  test("migrate makes the tables of PostgreSQL, which the library then finds", async () => {
    const place = new URL(server);
    place.searchParams.set("tablePrefix", `m${randomBytes(5).toString("hex")}_`);
    expect((await check(place.href))[0]).toBe(1);
    expect((await holdfast(["threads", place.href])).code).toBe(4);
    expect((await holdfast(["migrate", place.href, "--apply"])).code).toBe(0);
    expect((await check(place.href))[0]).toBe(0);
    expect((await holdfast(["threads", place.href])).code).toBe(0);
  });
});
