import { isOra } from "./classify.ts";
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

/** Name used, and columns that have an index. */
const THERE_ALREADY = [955, 1408];

export async function createVectorIndex(handle: OracleHandle, tables: StoreTables, kind: VectorIndex): Promise<void> {
  try {
    await handle.ask(vectorIndexSql(tables, kind), {}, true);
  } catch (error) {
    if (!isOra(error, ...THERE_ALREADY)) throw error;
  }
}
