import oracledb, { type Pool } from "oracledb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWithStandIn } from "./with-oracle.ts";

/** The rules of Oracle Text that the stand-in keeps, seen through the real driver. */
await describeWithStandIn((place) => {
  let pool: Pool;
  const within = async <T>(work: (session: oracledb.Connection) => Promise<T>): Promise<T> => {
    const session = await pool.getConnection();
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  };
  const execute = (sql: string, binds: Record<string, oracledb.BindParameter> = {}) =>
    within((session) => session.execute<unknown[]>(sql, binds, { autoCommit: true }));
  const query = "SELECT d.id FROM docs d WHERE CONTAINS(d.words, :b_query) > 0 ORDER BY d.id";
  const found = async (sought: string): Promise<readonly unknown[]> =>
    ((await execute(query, { b_query: { val: sought } })).rows ?? []).map(([id]) => id);
  const insert = "INSERT INTO docs (id, words) VALUES (:b_id, :b_words)";
  const add = (id: string, words: string) => execute(insert, { b_id: { val: id }, b_words: { val: words } });

  beforeAll(async () => {
    const { dsn, user, password } = place;
    pool = await oracledb.createPool({ connectString: dsn, user, password, poolMin: 0, poolAlias: "text" });
    for (const table of ["docs", "later"])
      await execute(`CREATE TABLE ${table} (id VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY, words CLOB NOT NULL)`);
  });
  afterAll(() => pool.close(0));

  test("CONTAINS needs an index, also on an empty table: ORA-20000 with DRG-10599", async () => {
    await expect(found("anything")).rejects.toMatchObject({
      errorNum: 20_000,
      message: expect.stringContaining("DRG-10599: column is not indexed"),
    });
  });

  describe("with an index that is synced on commit", () => {
    const create = "CREATE INDEX docs_text ON docs (words) INDEXTYPE IS CTXSYS.CONTEXT PARAMETERS ('SYNC (ON COMMIT)')";
    beforeAll(async () => {
      await add("before", "earlier words");
      await execute(create);
    });

    test("what is there is indexed; a second index of that name or on that column is refused", async () => {
      expect(await found("earlier")).toEqual(["before"]);
      await expect(execute(create)).rejects.toMatchObject({ errorNum: 955 });
      await expect(execute(create.replace("docs_text", "docs_other"))).rejects.toMatchObject({ errorNum: 29_879 });
    });

    test("a new row is found when its transaction has committed and not before; a deleted one is gone at once", async () => {
      await within(async (session) => {
        const rowsOf = async (): Promise<number> =>
          (await session.execute(query, { b_query: { val: "fresh" } })).rows?.length ?? 0;
        await session.execute(insert, { b_id: { val: "fresh" }, b_words: { val: "fresh words" } });
        expect(await rowsOf(), "before the commit").toBe(0);
        await session.commit();
        expect(await rowsOf(), "after it").toBe(1);
        await session.execute("DELETE FROM docs WHERE id = 'fresh'");
        expect(await rowsOf(), "deleted and not committed").toBe(0);
        await session.commit();
      });
    });

    test("reserved words and characters are refused unless they are in braces: DRG-50901", async () => {
      await add("reserved", "near miss of at&t");
      for (const wrong of ["near", "near & miss", "within", "and", "miss &", "{miss", "a-b", "miss;near", "_iss"]) {
        await expect(found(wrong), wrong).rejects.toMatchObject({
          errorNum: 20_000,
          message: expect.stringContaining("DRG-50901"),
        });
      }
      expect(await found("{near} & {miss}")).toEqual(["reserved"]);
    });

    test("a wildcard makes a beginning of a word, but not of one in braces", async () => {
      await add("wild", "checkpoint");
      expect(await found("check%")).toEqual(["wild"]);
      expect(await found("check")).toEqual([]);
      expect(await found("{check}%"), "a word, and a wildcard by itself").toEqual([]);
    });

    test("stopwords are not indexed, and long words are cut", async () => {
      await add("stop", `the ${"x".repeat(80)}`);
      expect(await found("the")).toEqual([]);
      expect(await found("x".repeat(64))).toEqual(["stop"]);
      expect(await found("x".repeat(65))).toEqual([]);
    });
  });

  test("an index without SYNC (ON COMMIT) has only what was there when it was created", async () => {
    await execute("INSERT INTO later (id, words) VALUES ('old', 'some words')");
    await execute("CREATE INDEX later_text ON later (words) INDEXTYPE IS CTXSYS.CONTEXT");
    await execute("INSERT INTO later (id, words) VALUES ('new', 'some words')");
    const { rows } = await execute(query.replaceAll("docs", "later"), { b_query: { val: "words" } });
    expect(rows).toEqual([["old"]]);
  });
});
