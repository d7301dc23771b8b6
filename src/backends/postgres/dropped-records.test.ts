import { afterAll, describe, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlDdl } from "./index.ts";

const ROUNDS = 15;

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  describe.for([0, 4])("with %i partitions", (partitions) => {
    /** Made by the statements that a deployment would run. */
    async function tables(): Promise<string> {
      const tablePrefix = place.prefix();
      for (const statement of postgresqlDdl({ schema, tablePrefix, partitions })) await sql(statement);
      return tablePrefix;
    }

    const orphans = (tablePrefix: string): Promise<unknown[]> =>
      sql(`SELECT r.thread_id, r.seq FROM ${schema}.${tablePrefix}records r
        LEFT JOIN ${schema}.${tablePrefix}threads t USING (thread_id) WHERE t.thread_id IS NULL OR r.seq > t.tail`);

    test("a thread that is deleted by hand takes its records along, and no others", async () => {
      const tablePrefix = await tables();
      const checkpointer = place.open({ dsn: url, tablePrefix });
      for (const threadId of ["a", "b", "c"]) {
        const first = AgentState.create().withMessage(userMessage("one"));
        await checkpointer.save(first, threadId);
        await checkpointer.save(first.withMessage(userMessage("two")), threadId);
      }
      await sql(`DELETE FROM ${schema}.${tablePrefix}threads WHERE thread_id <> 'b'`);
      expect(await sql(`SELECT thread_id, seq FROM ${schema}.${tablePrefix}records ORDER BY seq`)).toEqual([
        { thread_id: "b", seq: 1 },
        { thread_id: "b", seq: 2 },
      ]);
      expect((await checkpointer.load("b"))?.messages).toHaveLength(2);
    });

    test("threads that are deleted by hand take along what is kept for them, also from a part itself", async () => {
      const tablePrefix = await tables();
      const checkpointer = place.open({ dsn: url, tablePrefix });
      const name = (table: string): string => `${schema}.${tablePrefix}${table}`;
      for (const threadId of ["a", "b", "c", "d", "e", "f"]) {
        await checkpointer.save(AgentState.create().withMessage(userMessage("harbour")), threadId);
        await sql(`INSERT INTO ${name("names")} (thread_id, name, seq) VALUES ('${threadId}', 'other', 1)`);
      }
      await checkpointer.search("harbour");
      expect(await place.count(`${tablePrefix}words`)).toBe(6);
      const parts = partitions === 0 ? [""] : Array.from({ length: partitions }, (_, part) => `_${part}`);
      for (const part of parts) await sql(`DELETE FROM ${name(`threads${part}`)} WHERE thread_id <> 'b'`);
      for (const table of ["threads", "records", "names", "words"]) {
        expect(await sql(`SELECT thread_id FROM ${name(table)}`)).toEqual([{ thread_id: "b" }]);
      }
    });

    test("threads that are deleted while others append and begin them anew leave no record behind", async () => {
      const tablePrefix = await tables();
      const workers = Array.from({ length: 4 }, () => place.open({ dsn: url, tablePrefix, maxConnections: 2 }));
      await Promise.all(
        workers.map(async (checkpointer, worker) => {
          for (let round = 0; round < ROUNDS; round++) {
            const lost = (error: unknown): void => {
              if (!StateError.is(error, "CONFLICT") && !StateError.is(error, "NOT_FOUND")) throw error;
            };
            let state = (await checkpointer.load("t")) ?? AgentState.create();
            for (let number = 0; number < 3; number++) {
              state = state.withMessage(userMessage(`${worker} ${round} ${number}`));
              await checkpointer.save(state, "t").catch(lost);
            }
            if (round % 4 === worker) await checkpointer.delete("t").catch(lost);
          }
        }),
      );
      expect(await orphans(tablePrefix)).toEqual([]);
      await workers[0]?.delete("t");
      expect(await place.count(`${tablePrefix}records`)).toBe(0);
    });
  });
});
