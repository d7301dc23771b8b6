import { StateError } from "../../errors.ts";
import { text } from "./binds.ts";
import { classify, isOra } from "./classify.ts";
import type { OracleHandle } from "./handle.ts";
import type { StoreTables } from "./store-layout.ts";

/** A graph in the server's vector pool, or partitions on disk. */
export type VectorIndex = "hnsw" | "ivf";

const ORGANIZATION: Readonly<Record<VectorIndex, string>> = {
  hnsw: "ORGANIZATION INMEMORY NEIGHBOR GRAPH",
  ivf: "ORGANIZATION NEIGHBOR PARTITIONS",
};

export const vectorIndexSql = ({ items }: StoreTables, kind: VectorIndex): string =>
  `CREATE VECTOR INDEX ${items}_BY_VECTOR ON ${items} (embedding) ${ORGANIZATION[kind]} DISTANCE COSINE WITH TARGET ACCURACY 95`;

export const INDEX_OF = `SELECT COUNT(*) AS found FROM all_indexes
WHERE table_owner = COALESCE(:b_owner, USER) AND table_name = :b_table AND index_name = :b_index`;

/** Name in use, or columns already indexed: another process was faster. */
const THERE_ALREADY = [955, 1408];

/** Checks first: a user who may only work with the rows is refused CREATE INDEX even if the index exists. */
export async function createVectorIndex(handle: OracleHandle, tables: StoreTables, kind: VectorIndex): Promise<void> {
  const table = tables.items.split(".").at(-1);
  const binds = { b_owner: text(tables.owner), b_table: text(table), b_index: text(`${table}_BY_VECTOR`) };
  const { rows } = await handle.ask(INDEX_OF, binds);
  if (Number(rows[0]?.["FOUND"]) > 0) return;
  try {
    await handle.ask(vectorIndexSql(tables, kind), {}, true);
  } catch (error) {
    if (isOra(error, ...THERE_ALREADY)) return;
    if (classify(error) !== "PERMISSION_DENIED") throw error;
    const what = `there is no index of vectors, and this user may not make one: the owner of the table runs ${vectorIndexSql(tables, kind)}`;
    throw new StateError("PERMISSION_DENIED", what, { cause: error });
  }
}
