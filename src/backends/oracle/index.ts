export { type OracleCheckpointerOptions, oracleCheckpointer } from "./checkpointer.ts";
export {
  type OracleConnection,
  type OracleConnectionOptions,
  type OraclePassword,
  type OraclePool,
  type OracleResult,
  type OracleSession,
  oracleConnection,
} from "./connect.ts";
export { type OracleDdlOptions, oracleDdl } from "./ddl.ts";
export { OracleCheckpointSaver, type OracleCheckpointSaverOptions } from "./saver.ts";
export { OracleStore, type OracleStoreOptions } from "./store.ts";
