import { invalid } from "../../driver/options.ts";
import { DEFAULT_TABLE_NAME, saverTableNames, tableNames } from "./layout.ts";
import { assertRole } from "./names.ts";
import { type Deployment, ddl, logDeployment, storeDeployment } from "./parts.ts";
import { checkedDimension, DEFAULT_STORE_TABLE, storeTables } from "./store-layout.ts";
import { type VectorIndex, vectorIndexSql } from "./vector-index.ts";

export interface OracleDdlOptions {
  /** Which tables: those of `oracleCheckpointer`, `OracleCheckpointSaver` or `OracleStore`. @default "checkpointer" */
  readonly of?: "checkpointer" | "saver" | "store";
  /** The same as there: `AGENTS` or `OWNER.AGENTS`. @default "HOLDFAST", and "HOLDFAST_STORE" for a store */
  readonly tableName?: string;
  /** For a store, the same as there. */
  readonly dimension?: number;
  readonly vectorIndex?: "hnsw" | "ivf";
  /** The user or role that the application connects as. It is granted what it needs, and nothing more. */
  readonly role?: string;
  /** The versions of the existing tables, as the table `<tableName>_SCHEMA` lists them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/**
 * The statements that create the tables, or upgrade existing ones: exactly what is
 * executed on first use. The owner runs them, and commits.
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
    return storeDeployment(storeTables(tableName ?? DEFAULT_STORE_TABLE), checkedDimension("oracleDdl", dimension));
  if (of === "checkpointer") return logDeployment(tableNames(tableName ?? DEFAULT_TABLE_NAME));
  if (of === "saver") return logDeployment(saverTableNames(tableName ?? DEFAULT_TABLE_NAME));
  throw invalid('oracleDdl(): of must be "checkpointer", "saver" or "store"');
}

function indexKind({ dimension, vectorIndex }: OracleDdlOptions): VectorIndex {
  if (dimension === undefined) throw invalid("oracleDdl(): vectorIndex needs the option dimension");
  if (vectorIndex === "hnsw" || vectorIndex === "ivf") return vectorIndex;
  throw invalid('oracleDdl(): vectorIndex must be "hnsw" or "ivf"');
}
