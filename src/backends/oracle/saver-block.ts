import type { SaverTables } from "./layout.ts";
import { ISO_FORMAT } from "./sql-clock.ts";

/** What the block of an append does for a saver's tables, for each record after the record itself. */

/** A graph's record that only adds writes, and one that puts a checkpoint. */
export const BRINGS_WRITES = 1;
export const PUTS_CHECKPOINT = 2;

export const SAVER_VARIABLES = `  v_graph NUMBER;
  v_ns VARCHAR2(1025 BYTE);
  v_id VARCHAR2(1024 BYTE);
  v_parent VARCHAR2(1024 BYTE);
  v_created TIMESTAMP(3);
  v_calls CLOB;
  v_differs NUMBER;
  v_own CLOB;
  v_shown CLOB;
`;

const assign = (place: number): string => `  v_graph := :b_graph_${place};
  v_ns := :b_ns_${place};
  v_id := :b_id_${place};
  v_parent := :b_parent_${place};
  v_created := TO_TIMESTAMP(:b_created_${place}, ${ISO_FORMAT});
  v_differs := :b_differs_${place};
  v_own := :b_shown_${place};
  v_calls := :b_calls_${place};`;

const WRITE_PATHS = `task_id VARCHAR2(1024 BYTE) PATH '$[0]', idx NUMBER PATH '$[1]', channel VARCHAR2(1024 BYTE) PATH '$[2]', replaces NUMBER PATH '$[3]'`;

/** A record that replaced another gets new rows; a newer record's row of the same checkpoint stays. */
export const forgetRecord = ({ checkpoints, writes }: SaverTables): string =>
  [checkpoints, writes].map((table) => `  DELETE FROM ${table} WHERE thread_id = v_thread AND seq = v_seq;`).join("\n");

export const keepGraph = ({ checkpoints, writes }: SaverTables, place: number): string => `${assign(place)}
  IF v_graph = ${PUTS_CHECKPOINT} THEN
    v_shown := v_long_metadata;
    IF v_metadata IS NOT NULL THEN
      v_shown := v_metadata;
    END IF;
    IF v_differs = 1 THEN
      v_shown := v_own;
    END IF;
    IF v_unindexed = 1 THEN
      v_shown := NULL;
    END IF;
    UPDATE ${checkpoints} SET parent_checkpoint_id = v_parent, created_at = v_created, metadata = v_shown, seq = v_seq
    WHERE thread_id = v_thread AND checkpoint_ns = v_ns AND checkpoint_id = v_id AND seq < v_seq;
    IF SQL%ROWCOUNT = 0 THEN
      BEGIN
        INSERT INTO ${checkpoints} (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, created_at, metadata, seq)
        VALUES (v_thread, v_ns, v_id, v_parent, v_created, v_shown, v_seq);
      EXCEPTION
        WHEN DUP_VAL_ON_INDEX THEN
          NULL;
      END;
    END IF;
  END IF;
  IF v_calls IS NOT NULL THEN
    FOR w IN (SELECT c.task_id, c.idx, c.channel, c.replaces FROM JSON_TABLE(v_calls, '$[*]' COLUMNS (${WRITE_PATHS})) c) LOOP
      UPDATE ${writes} SET channel = CASE WHEN w.replaces = 1 THEN w.channel ELSE channel END, seq = GREATEST(seq, v_seq)
      WHERE thread_id = v_thread AND checkpoint_ns = v_ns AND checkpoint_id = v_id AND task_id = w.task_id AND idx = w.idx;
      IF SQL%ROWCOUNT = 0 THEN
        INSERT INTO ${writes} (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, seq)
        VALUES (v_thread, v_ns, v_id, w.task_id, w.idx, w.channel, v_seq);
      END IF;
    END LOOP;
  END IF;`;
