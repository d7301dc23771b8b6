import { afterAll, expect, test } from "vitest";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlCheckpointer } from "./index.ts";

const STEPS = 40;

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  test(`saves, deletions, vacuums and searches at once leave an index that is that of the records (HOLDFAST_SEED=${seed})`, async () => {
    const tablePrefix = place.prefix();
    const tables = `${schema}.${tablePrefix}`;
    const { below } = seededRandom(seed);

    async function step(checkpointer: Checkpointer, name: string): Promise<void> {
      const thread = `t${below(3)}`;
      const kind = below(10);
      if (kind < 5) {
        const state = (await checkpointer.load(thread)) ?? AgentState.create();
        await checkpointer.save(state.withMessage(userMessage(`needle ${name}`)), thread);
      } else if (kind < 7) {
        const listed = await checkpointer.listCheckpoints(thread);
        const checkpointId = listed[below(listed.length)]?.checkpointId;
        if (checkpointId !== undefined) await checkpointer.delete(thread, { checkpointId });
      } else if (kind === 7) await checkpointer.vacuum({ keepLast: 2 });
      else if (kind === 8 && below(4) === 0) await checkpointer.delete(thread);
      else await checkpointer.search("needle");
    }

    const workers = Array.from({ length: 4 }, () => postgresqlCheckpointer({ dsn: url, schema, tablePrefix }));
    await Promise.all(
      workers.map(async (checkpointer, worker) => {
        for (let done = 0; done < STEPS; done++) {
          await step(checkpointer, `w${worker}s${done}`).catch((error: unknown) => {
            if (!StateError.is(error, "CONFLICT") && !StateError.is(error, "NOT_FOUND")) throw error;
          });
        }
      }),
    );
    const [checkpointer] = workers as [Checkpointer, ...Checkpointer[]];
    const found = async (): Promise<readonly string[]> =>
      (await checkpointer.search("needle", { limit: 1000 })).map((hit) => `${hit.threadId} ${hit.checkpointId}`).sort();
    const kept = await found();
    expect(kept.length).toBeGreaterThan(0);
    expect(
      await sql(`SELECT FROM ${tables}words w WHERE NOT EXISTS
        (SELECT FROM ${tables}records r WHERE r.thread_id = w.thread_id AND r.seq = w.seq)`),
    ).toEqual([]);
    const words = `SELECT thread_id, seq, words::text AS words FROM ${tables}words ORDER BY 1, 2`;
    const before = await sql(words);
    await sql(`DELETE FROM ${tables}words`);
    await sql(`UPDATE ${tables}threads SET indexed = 0, stale = true`);
    expect(await found()).toEqual(kept);
    expect(await sql(words)).toEqual(before);
    await Promise.all(workers.map((worker) => worker.close()));
  });
});
