import { invalid } from "../../driver/options.ts";
import { MAX_DIMENSION } from "../../store/vectors.ts";
import { DEFAULT_TABLE_NAME } from "./facts.ts";
import { saverTableNames, tableNames } from "./layout.ts";
import { assertRole } from "./names.ts";
import { type Deployment, ddl, logDeployment, storeDeployment } from "./parts.ts";
import { DEFAULT_STORE_TABLE } from "./store-facts.ts";
import { storeTables } from "./store-layout.ts";
import { type VectorIndex, vectorIndexSql } from "./vector-index.ts";

export interface OracleDdlOptions {
  /** Whose tables: those of `oracleCheckpointer`, `OracleCheckpointSaver` or `OracleStore`. @default "checkpointer" */
  readonly of?: "checkpointer" | "saver" | "store";
  /** As it is given there: `AGENTS` or `OWNER.AGENTS`. @default "HOLDFAST", and "HOLDFAST_STORE" of a store */
  readonly tableName?: string;
  /** Of a store, as it is given there. */
  readonly dimension?: number;
  readonly vectorIndex?: "hnsw" | "ivf";
  /** The user or role that the application connects as: it is granted what it needs, and no more. */
  readonly role?: string;
  /** The versions of the tables that are there, as the table `<tableName>_SCHEMA` has them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/**
 * The statements that create the tables, or upgrade those that are there:
 * exactly what is executed on first use. The owner runs them, and commits.
 */
export function oracleDdl(options: OracleDdlOptions = {}): readonly string[] {
  const { of = "checkpointer", role, from, vectorIndex } = options;
  if (role !== undefined) assertRole(role);
  if (of !== "store" && (vectorIndex !== undefined || options.dimension !== undefined)) {
    throw invalid('oracleDdl(): dimension and vectorIndex are those of a store: of: "store"');
  }
  const statements = ddl(deploymentOf(options), { role, from });
  if (vectorIndex === undefined) return statements;
  return [...statements, vectorIndexSql(storeTables(options.tableName ?? DEFAULT_STORE_TABLE), indexKind(options))];
}

function deploymentOf({ of = "checkpointer", tableName, dimension }: OracleDdlOptions): Deployment {
  if (of === "store")
    return storeDeployment(storeTables(tableName ?? DEFAULT_STORE_TABLE), checkedDimension(dimension));
  if (of === "checkpointer") return logDeployment(tableNames(tableName ?? DEFAULT_TABLE_NAME));
  if (of === "saver") return logDeployment(saverTableNames(tableName ?? DEFAULT_TABLE_NAME));
  throw invalid('oracleDdl(): of must be "checkpointer", "saver" or "store"');
}

function indexKind({ dimension, vectorIndex }: OracleDdlOptions): VectorIndex {
  if (dimension === undefined) throw invalid("oracleDdl(): vectorIndex needs the option dimension");
  if (vectorIndex === "hnsw" || vectorIndex === "ivf") return vectorIndex;
  throw invalid('oracleDdl(): vectorIndex must be "hnsw" or "ivf"');
}

function checkedDimension(dimension: number | undefined): number | undefined {
  if (dimension === undefined || (Number.isInteger(dimension) && dimension >= 1 && dimension <= MAX_DIMENSION))
    return dimension;
  throw invalid(`oracleDdl(): dimension must be a whole number from 1 to ${MAX_DIMENSION}`);
}
