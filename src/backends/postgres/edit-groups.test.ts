import { afterAll, describe, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { markAt, type RequestFields, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { postgresqlDdl } from "./index.ts";
import { PostgresLog } from "./log.ts";

/** Edits of a thread with three checkpoints; the newest has metadata, the second has further names. */
const EDITS: Readonly<Record<string, RequestFields>> = {
  below: { dropBelow: 3 },
  "below all": { dropBelow: 4, record: markAt(4, { head: 0, base: 4 }) },
  dropped: { drop: [1, 2] },
  "replaced with words": { replace: [recordAt(2, { base: 2, words: "amber coral", body: Buffer.alloc(0) })] },
  "replaced without words": { replace: [recordAt(2, { base: 2 })] },
  "replaced with the same words": { replace: [recordAt(2, { names: ["second"], words: "reef two" })] },
  "named otherwise": { replace: [recordAt(2, { names: ["other", "third"], writeId: "again" })] },
  "the head's metadata": { replace: [recordAt(3, { metadata: '{"city":"Bergen"}', words: "north" })] },
  "metadata that jsonb cannot hold": { replace: [recordAt(3, { metadata: '{"city":"\\u0000"}' })] },
  "no metadata": { replace: [recordAt(3)] },
  "all of it": { dropBelow: 2, drop: [2], replace: [recordAt(3, { base: 3, words: "one reef two three" })] },
  "another head": { replace: [recordAt(2)], record: markAt(4, { head: 2, base: 1 }) },
  "a checkpoint of its own": { drop: [2], record: recordAt(4, { base: 3, metadata: '{"city":"Oslo"}' }) },
  "more records": { drop: [1], more: [recordAt(5)] },
  "another tail": { expected: 2, record: markAt(3), drop: [1] },
};
const TABLES: Readonly<Record<string, string>> = {
  threads: "thread_id, generation, tail, tail_write_id, head, metadata, unindexed, indexed, stale",
  records: "thread_id, seq, base, head, write_id, checkpoint_id, names, header, metadata, body",
  names: "thread_id, name, seq",
  words: "thread_id, seq, words",
};

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  /** The rows after every edit was made, together or one by one, and what was answered. */
  async function edited(partitions: number, areTogether: boolean): Promise<unknown> {
    const tablePrefix = place.prefix();
    for (const statement of postgresqlDdl({ schema, tablePrefix, partitions })) await sql(statement);
    const log = new PostgresLog(postgresLogOptions({ dsn: url, schema, tablePrefix }));
    for (const threadId of Object.keys(EDITS)) {
      await log.append(threadId, requestFor(recordAt(1, { words: "one" })));
      await log.append(threadId, requestFor(recordAt(2, { names: ["second"] })));
      await log.append(threadId, requestFor(recordAt(3, { metadata: '{"city":"Bremen"}' })));
    }
    await log.catchUp(({ seq }) => ["", "one", "reef two", "three"][seq]);
    const edits = Object.entries(EDITS).map(
      ([threadId, edit]) =>
        () =>
          log.append(threadId, requestFor(edit.record ?? markAt(4), edit)),
    );
    const answers: unknown[] = [];
    if (areTogether) answers.push(...(await Promise.all(edits.map((edit) => edit()))));
    else for (const edit of edits) answers.push(await edit());
    await log.close();
    const rows = await Promise.all(
      Object.entries(TABLES).map(([table, columns]) =>
        sql(`SELECT ${columns} FROM ${schema}.${tablePrefix}${table} ORDER BY ${columns}`),
      ),
    );
    return { answers, rows };
  }

  describe.for([0, 3])("with %i partitions", (partitions) => {
    test("edits that travel together leave what each leaves that travels alone", async () => {
      expect(await edited(partitions, true)).toEqual(await edited(partitions, false));
    });
  });
});
