import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { migrate } from "../../src/driver/migrations.ts";
import { describeWithService } from "../services/with-service.ts";
import { notes, openPlace, sqlitePlace, tablesOf } from "./migrated-place.ts";
import { Programs } from "./programs.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

const disposals: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const dispose of disposals) await dispose();
});

describe("sqlite", () => {
  processesThatMigrate(async () => {
    const { url, dispose } = await sqlitePlace();
    disposals.push(dispose);
    return url;
  });
});

await describeWithService("postgres", (server) => {
  processesThatMigrate(async () => {
    const url = new URL(server);
    url.searchParams.set("tablePrefix", `m${randomBytes(6).toString("hex")}_`);
    return url.href;
  });
});

/** Each with tables of its own, at a fresh URL. */
function processesThatMigrate(fresh: () => Promise<string>): void {
  /** Tables as version 1 of the part left them. */
  async function older(): Promise<string> {
    const url = await fresh();
    const place = await openPlace(url);
    await migrate(place.store, [notes(url, 1)]);
    await place.close();
    return url;
  }

  async function ask(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
    const place = await openPlace(url);
    const rows = await place.sql(text).finally(place.close);
    return rows.map((row) => ({ ...row }));
  }

  const startTen = async (url: string, part: string): Promise<readonly unknown[]> => {
    const ten = Array.from({ length: 10 }, () => programs.start("migrating-program", [url, part]));
    await Promise.all(ten.map((one) => one.hasSaid(1)));
    for (const one of ten) one.tell("go");
    expect(await Promise.all(ten.map((one) => one.ended()))).toEqual(ten.map(() => ({ code: 0, signal: null })));
    return ten.map(({ said }) => said[1]);
  };

  test("of ten processes that upgrade older tables at once, one does it and all of them go on", async () => {
    const url = await older();
    const { notes: table, versions } = tablesOf(url);
    const changes = (await startTen(url, "notes")) as { changes: number }[];
    expect(changes.map((one) => one.changes).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    expect(await ask(url, `SELECT * FROM ${table}`)).toEqual([{ id: 1, said: "of version 1", words: 3 }]);
    expect(await ask(url, `SELECT * FROM ${versions}`)).toEqual([{ part: "notes", version: 2 }]);
  });

  test("of ten processes that open a new storage at once, one creates the tables and all of them go on", async () => {
    const url = await fresh();
    expect(await startTen(url, "checkpoints")).toEqual(Array.from({ length: 10 }, () => ({ threads: 0 })));
    expect(await ask(url, `SELECT * FROM ${tablesOf(url).versions}`)).toEqual([{ part: "checkpoints", version: 1 }]);
  });

  test("killed between two statements, a process leaves the old version whole, and the next completes it", async () => {
    const url = await older();
    const { notes: table, versions } = tablesOf(url);
    const killed = programs.start("migrating-program", [url, "notes", "UPDATE"]);
    await killed.hasSaid(1);
    killed.tell("go");
    await killed.hasSaid(2);
    expect(killed.said[1]).toEqual({ at: `UPDATE ${table} SET words = 3` });
    killed.signal("SIGKILL");
    expect(await killed.ended()).toMatchObject({ signal: "SIGKILL" });
    expect(await ask(url, `SELECT * FROM ${table}`)).toEqual([{ id: 1, said: "of version 1" }]);
    expect(await ask(url, `SELECT * FROM ${versions}`)).toEqual([{ part: "notes", version: 1 }]);
    const next = programs.start("migrating-program", [url, "notes"]);
    await next.hasSaid(1);
    next.tell("go");
    expect(await next.ended()).toMatchObject({ code: 0 });
    expect(await ask(url, `SELECT * FROM ${table}`)).toEqual([{ id: 1, said: "of version 1", words: 3 }]);
    expect(await ask(url, `SELECT * FROM ${versions}`)).toEqual([{ part: "notes", version: 2 }]);
  });

  test("a statement that fails in the middle leaves the old version whole, too", async () => {
    const url = await older();
    const { notes: table, versions } = tablesOf(url);
    const place = await openPlace(url);
    const { name, migrations } = notes(url, 2);
    const [first = [], second = []] = migrations;
    const failing = { name, migrations: [first, [...second, `CREATE TABLE ${table} (id integer)`]] };
    await expect(migrate(place.store, [failing])).rejects.toThrow(/already exists/);
    await place.close();
    expect(await ask(url, `SELECT * FROM ${table}`)).toEqual([{ id: 1, said: "of version 1" }]);
    expect(await ask(url, `SELECT * FROM ${versions}`)).toEqual([{ part: "notes", version: 1 }]);
  });

  test("older tables are upgraded with what is in them, and a build that knows less refuses them", async () => {
    const url = await older();
    const place = await openPlace(url);
    await migrate(place.store, [notes(url, 2)]);
    expect(await ask(url, `SELECT * FROM ${tablesOf(url).notes}`)).toEqual([{ id: 1, said: "of version 1", words: 3 }]);
    await expect(migrate(place.store, [notes(url, 1)])).rejects.toMatchObject({
      code: "INCOMPATIBLE",
      message: 'the tables of "notes" have version 2; this build knows up to 1. Upgrade holdfast to open them',
    });
    await place.close();
  });

  test("a process that uses only checkpoints works on when another part was migrated, or came first", async () => {
    const url = await older();
    const place = await openPlace(url);
    await migrate(place.store, [notes(url, 2)]);
    await place.close();
    const checkpointer = await openCheckpointer(url);
    expect(await checkpointer.listThreads()).toEqual([]);
    await checkpointer.close();
    expect(await ask(url, `SELECT * FROM ${tablesOf(url).versions} ORDER BY part`)).toEqual([
      { part: "checkpoints", version: 1 },
      { part: "notes", version: 2 },
    ]);
  });
}
