import { afterAll, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { grow, markAt, placeAt, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  async function filled(): Promise<{ log: PostgresLog; rows: () => Promise<unknown> }> {
    const tablePrefix = place.prefix();
    const log = new PostgresLog(postgresLogOptions({ dsn: url, schema, tablePrefix }));
    await grow(log, "t", 3);
    const tables = `${schema}.${tablePrefix}`;
    const rows = async (): Promise<unknown> => [
      await sql(`SELECT * FROM ${tables}records ORDER BY seq`),
      await sql(`SELECT * FROM ${tables}threads`),
    ];
    return { log, rows };
  }

  test("positions that no column holds are above every tail, and no failure", async () => {
    const { log, rows } = await filled();
    const before = await rows();
    for (const far of [2 ** 31 - 1, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER - 2]) {
      expect(await log.list("t", { before: far, limit: 10 }), `list below ${far}`).toHaveLength(3);
      expect(await log.list("t", { before: -far, limit: 10 }), `list below ${-far}`).toHaveLength(0);
      const outcome = await log.append("t", requestFor(recordAt(far + 1, { base: 1, head: far + 1 })));
      expect(outcome, `an append behind ${far}`).toMatchObject({
        appended: false,
        tail: { seq: 3 },
        generation: "first",
      });
      expect(await log.append("absent", requestFor(recordAt(far + 1)))).toMatchObject({
        appended: false,
        tail: undefined,
      });
      expect(await log.remove("t", placeAt(far))).toBe("moved");
    }
    expect(await rows()).toEqual(before);
    await log.close();
  });

  test("replacing a record that is not there is INVALID_ARGUMENT, and nothing is written", async () => {
    const { log, rows } = await filled();
    await log.append("t", requestFor(markAt(4, { head: 3 }), { drop: [1] }));
    const before = await rows();
    const gone = requestFor(markAt(5, { head: 3 }), { replace: [recordAt(1), recordAt(2)], drop: [3] });
    const code = await log.append("t", gone).catch((error: unknown) => log.classify(error));
    expect(code).toBe("INVALID_ARGUMENT");
    expect(await rows()).toEqual(before);
    await log.close();
  });
});
