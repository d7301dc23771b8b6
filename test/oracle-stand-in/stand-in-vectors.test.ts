import oracledb, { type Pool } from "oracledb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onMessage } from "./install.ts";
import { describeWithStandIn } from "./with-oracle.ts";

/** What the stand-in keeps of vectors, seen through the real driver. */
await describeWithStandIn(
  (place) => {
    let pool: Pool;
    const execute = async (sql: string, binds: Record<string, unknown> = {}) => {
      const connection = await pool.getConnection();
      try {
        const given = binds as Record<string, oracledb.BindParameter>;
        return await connection.execute<unknown[]>(sql, given, { autoCommit: true });
      } finally {
        await connection.close();
      }
    };
    const add = "ALTER TABLE vectors ADD (embedding VECTOR(1500, FLOAT32))";
    const insert = "INSERT INTO vectors (id, embedding) VALUES (:b_id, :b_v)";
    const vector = (length: number) => ({ val: new Float32Array(length).fill(0.1), type: oracledb.DB_TYPE_VECTOR });

    beforeAll(async () => {
      const { dsn, user, password } = place;
      pool = await oracledb.createPool({ connectString: dsn, user, password, poolMin: 0, poolAlias: "vectors" });
      await execute("CREATE TABLE vectors (id VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY)");
      await execute(add);
    });
    afterAll(() => pool.close(0));

    test("a column is added once: ORA-01430 the second time", async () => {
      await expect(execute(add)).rejects.toMatchObject({ errorNum: 1430 });
    });

    test("a vector of any length is a bind like others, comes back as the driver's own type, and never with its row", async () => {
      const sent = vector(1500);
      await execute(insert, { b_id: "a", b_v: sent });
      let messages = 0;
      const stop = onMessage(() => messages++);
      const { rows } = await execute("SELECT i.embedding FROM vectors i WHERE id = :b_id", { b_id: "a" });
      stop();
      expect(rows?.[0]?.[0]).toEqual(sent.val);
      expect(messages).toBeGreaterThan(1);
      const distance = "SELECT VECTOR_DISTANCE(i.embedding, :b_q, COSINE) AS d FROM vectors i ORDER BY d";
      expect(Number((await execute(distance, { b_q: sent })).rows?.[0]?.[0])).toBeCloseTo(0, 5);
    });

    test("one of another length is refused: ORA-51803", async () => {
      await expect(execute(insert, { b_id: "b", b_v: vector(3) })).rejects.toMatchObject({ errorNum: 51803 });
    });

    test("both kinds of an index of vectors are made", async () => {
      const cosine = "DISTANCE COSINE WITH TARGET ACCURACY 95";
      await execute(
        `CREATE VECTOR INDEX vectors_a ON vectors (embedding) ORGANIZATION INMEMORY NEIGHBOR GRAPH ${cosine}`,
      );
      await execute(`CREATE VECTOR INDEX vectors_b ON vectors (embedding) ORGANIZATION NEIGHBOR PARTITIONS ${cosine}`);
      const made = await place.sql("SELECT indexdef FROM pg_indexes WHERE indexname IN ('vectors_a', 'vectors_b')");
      expect(made.map(({ indexdef }) => /USING (\w+)/.exec(String(indexdef))?.[1]).sort()).toEqual(["hnsw", "ivfflat"]);
    });
  },
  { vectors: true },
);
