import oracledb, { type Connection, type Pool } from "oracledb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { onMessage } from "./install.ts";
import { rewriteStatement } from "./rewrite.ts";
import { describeWithStandIn } from "./with-oracle.ts";

/**
 * The rules of Oracle's that the stand-in keeps where PostgreSQL differs, each
 * seen through the real driver. They are what a green suite on it is worth.
 */
await describeWithStandIn((place) => {
  let pool: Pool;
  beforeAll(async () => {
    const { dsn, user, password } = place;
    pool = await oracledb.createPool({
      connectString: dsn,
      user,
      password,
      poolMin: 0,
      poolMax: 4,
      poolAlias: "rules",
    });
    await withConnection(async (connection) => {
      await connection.execute(
        "CREATE TABLE rules (id VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY, n NUMBER(16), long_text CLOB, long_body BLOB)",
      );
    });
  });
  afterAll(() => pool.close(0));

  async function withConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await pool.getConnection();
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }

  const insert = "INSERT INTO rules (id, n) VALUES (:b_id, :b_n)";
  const count = async (id: string): Promise<unknown> =>
    withConnection(async (connection) => {
      const found = await connection.execute<[number]>("SELECT COUNT(*) FROM rules WHERE id = :b_id", { b_id: id });
      return found.rows?.[0]?.[0];
    });

  test("an empty text is NULL: it is refused where a value must be, and equals nothing", async () => {
    await withConnection(async (connection) => {
      await expect(connection.execute(insert, { b_id: "", b_n: 1 })).rejects.toMatchObject({ errorNum: 1400 });
    });
    expect(await count("")).toBe(0);
    expect(() => rewriteStatement("SELECT 1 FROM dual WHERE a = ''", [])).toThrow(/empty literal/);
  });

  test("a text over 4000 bytes may go straight into a LOB, and nowhere else: ORA-01461", async () => {
    const b_id = "long";
    await withConnection(async (connection) => {
      const text = "x".repeat(5000);
      await connection.execute("INSERT INTO rules (id, long_text) VALUES (:b_id, :b_text)", { b_id, b_text: text });
      await expect(
        connection.execute("SELECT id FROM rules WHERE id = :b_text", { b_text: text }),
      ).rejects.toMatchObject({ errorNum: 1461 });
    });
  });

  test("limits are bytes and not characters: ORA-12899", async () => {
    await withConnection(async (connection) => {
      await expect(connection.execute(insert, { b_id: "ä".repeat(40), b_n: 1 })).rejects.toMatchObject({
        errorNum: 12899,
      });
    });
  });

  test("a bind that the statement does not have, and a bind of DDL, are refused by the driver", async () => {
    await withConnection(async (connection) => {
      await expect(connection.execute(insert, { b_id: "x", other: 1 })).rejects.toMatchObject({ code: "NJS-097" });
      await expect(connection.execute("CREATE TABLE other (a NUMBER)", { b_id: "x" })).rejects.toMatchObject({
        code: "NJS-098",
      });
    });
  });

  test("an identifier has at most 128 bytes: ORA-00972; a name that is taken is ORA-00955", async () => {
    await withConnection(async (connection) => {
      const long = `CREATE TABLE ${"a".repeat(129)} (a NUMBER)`;
      await expect(connection.execute(long)).rejects.toMatchObject({ errorNum: 972 });
      await expect(connection.execute("CREATE TABLE rules (a NUMBER)")).rejects.toMatchObject({ errorNum: 955 });
      await expect(connection.execute("SELECT a FROM no_such_table")).rejects.toMatchObject({ errorNum: 942 });
    });
  });

  test("a key may hold 6398 bytes, by what its columns are declared as: ORA-01450", async () => {
    const key = (count: number): string => {
      const names = Array.from({ length: count }, (_, index) => `c${index}`);
      const columns = names.map((name) => `${name} VARCHAR2(1088 BYTE) NOT NULL`).join(", ");
      return `CREATE TABLE keys_${count} (${columns}, PRIMARY KEY (${names.join(", ")}))`;
    };
    await withConnection(async (connection) => {
      await connection.execute(key(5));
      await expect(connection.execute(key(6))).rejects.toMatchObject({ errorNum: 1450 });
    });
  });

  test("DDL commits what was before it; a closed connection undoes what was not committed", async () => {
    await withConnection(async (connection) => {
      await connection.execute(insert, { b_id: "before ddl", b_n: 1 });
      await connection.execute("CREATE TABLE rules_more (a NUMBER)");
      await connection.execute(insert, { b_id: "not committed", b_n: 1 });
    });
    expect(await count("before ddl")).toBe(1);
    expect(await count("not committed")).toBe(0);
  });

  test("a statement that failed undoes itself, and leaves what was before it to be committed", async () => {
    await withConnection(async (connection) => {
      await connection.execute(insert, { b_id: "kept", b_n: 1 });
      await expect(connection.execute(insert, { b_id: "kept", b_n: 2 })).rejects.toMatchObject({ errorNum: 1 });
      await connection.commit();
    });
    expect(await count("kept")).toBe(1);
  });

  test("a block that fails is undone as a whole, and nothing of it is committed", async () => {
    const block = `DECLARE
  v_id VARCHAR2(64 BYTE) := :b_id;
BEGIN
  INSERT INTO rules (id, n) VALUES (v_id, 1);
  RAISE_APPLICATION_ERROR(-20007, 'on purpose');
END;`;
    await withConnection(async (connection) => {
      await expect(connection.execute(block, { b_id: "in a block" }, { autoCommit: true })).rejects.toMatchObject({
        errorNum: 20007,
        message: expect.stringContaining("on purpose"),
      });
    });
    expect(await count("in a block")).toBe(0);
  });

  test("a second insert of a key waits for the first, and is refused when that commits", async () => {
    await withConnection(async (first) => {
      await first.execute(insert, { b_id: "raced", b_n: 1 });
      const second = withConnection((connection) =>
        connection.execute(insert, { b_id: "raced", b_n: 2 }, { autoCommit: true }),
      );
      const outcome = second.catch((error: { errorNum: number }) => error.errorNum);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await first.commit();
      expect(await outcome).toBe(1);
    });
  });

  test("an update on a condition that waited for a change of it finds nothing", async () => {
    await withConnection((connection) => connection.execute(insert, { b_id: "cas", b_n: 1 }, { autoCommit: true }));
    const update = "UPDATE rules SET n = 2 WHERE id = :b_id AND n = 1";
    await withConnection(async (first) => {
      await first.execute(update, { b_id: "cas" });
      const second = withConnection((connection) => connection.execute(update, { b_id: "cas" }, { autoCommit: true }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      await first.commit();
      expect((await second).rowsAffected).toBe(0);
    });
  });

  describe("messages", () => {
    const kinds = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
      const seen: string[] = [];
      const stop = onMessage(({ kind }) => void seen.push(kind.replace("Message", "")));
      await work();
      stop();
      return seen;
    };

    test("rows come with the answer, those with LOBs in one more message, and in two more the first time", async () => {
      await withConnection(async (connection) => {
        const handler = { fetchTypeHandler: () => ({ type: oracledb.DB_TYPE_VARCHAR }) };
        const short = () =>
          connection.execute("SELECT id FROM rules WHERE id = :b_id", { b_id: "kept" }, { prefetchRows: 3 });
        const long = () =>
          connection.execute("SELECT long_text FROM rules WHERE id = :b_id", { b_id: "long" }, handler);
        expect(await kinds(short)).toEqual(["Execute"]);
        expect(await kinds(long)).toEqual(["Execute", "Execute", "Fetch"]);
        expect(await kinds(long)).toEqual(["Execute", "Fetch"]);
      });
    });

    test("a value over 32,767 bytes costs a block three messages more", async () => {
      const block =
        "DECLARE\n  v_text CLOB := :b_text;\nBEGIN\n  UPDATE rules SET long_text = v_text WHERE n = 99;\nEND;";
      await withConnection(async (connection) => {
        const run = (length: number) => () => connection.execute(block, { b_text: "x".repeat(length) });
        expect(await kinds(run(32_767))).toEqual(["Execute"]);
        expect(await kinds(run(32_768))).toEqual(["LobOp", "LobOp", "LobOp", "Execute"]);
      });
    });
  });
});
