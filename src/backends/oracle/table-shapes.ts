import { StateError } from "../../errors.ts";
import { type Deployment, TAKERS } from "./parts.ts";

/** Our tables, by columns that only they have, and the suffix of their names. */
const SHAPES: readonly (readonly [of: Deployment["of"], what: string, suffix: RegExp, columns: readonly string[]])[] = [
  ["saver", "the table of checkpoints", /_CHECKPOINTS$/, ["CHECKPOINT_NS", "PARENT_CHECKPOINT_ID", "SEQ"]],
  ["saver", "the table of pending writes", /_WRITES$/, ["CHECKPOINT_NS", "TASK_ID", "IDX"]],
  ["checkpointer", "the table of threads", /$/, ["GENERATION", "TAIL", "SUMMARY"]],
  ["checkpointer", "the table of records", /_RECORDS$/, ["BODY_BYTES", "LENGTHY"]],
  ["store", "the table of items", /$/, ["NAMESPACE", "BUCKET", "LONG_VALUE"]],
];

/** The error for a table that has one of our names but another shape: which facet wants it, and what it is. */
export function otherTable(
  { of, tableName }: Deployment,
  table: string,
  wanted: readonly string[],
  found: readonly string[],
): StateError {
  const known = SHAPES.find(
    ([, , suffix, columns]) => suffix.test(table) && columns.every((one) => found.includes(one)),
  );
  const taker = `${TAKERS[of]}({ tableName: ${JSON.stringify(tableName)} })`;
  const whose =
    known === undefined
      ? "is another one"
      : `is ${known[1]} of ${TAKERS[known[0]]}({ tableName: ${JSON.stringify(table.replace(known[2], ""))} })`;
  return new StateError(
    "INCOMPATIBLE",
    `${taker} needs a table ${table} with the columns ${wanted.join(", ")}; the one that is there ${whose}, with the columns ${found.join(", ")}. Choose another tableName`,
  );
}
