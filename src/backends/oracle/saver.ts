import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { ranksUpToOf } from "../../checkpoint/find/search-place.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { CheckpointSaver, type SaverRules } from "../../saver/checkpoint-saver.ts";
import { connectionKinds, connectionOf, OracleConnection, type OracleConnectionOptions } from "./connect.ts";
import { DEFAULT_TABLE_NAME, saverTableNames } from "./layout.ts";
import { OracleLog, type OracleLogOptions } from "./log.ts";

export interface OracleCheckpointSaverOptions extends CheckpointerOptions, SaverRules, OracleConnectionOptions {
  /** The result of `oracleConnection()`, instead of a `dsn` or a `pool`. A checkpointer or a store may share it. */
  readonly connection?: OracleConnection;
  /**
   * The prefix of the table names, with or without `OWNER.`: "locus" creates
   * LOCUS_CHECKPOINTS and LOCUS_WRITES, and LOCUS_LOG with the values. @default
   * "HOLDFAST"
   */
  readonly tableName?: string;
}

const TAKER = { factory: "OracleCheckpointSaver", opener: "oracleConnection" };

/** A versioned history with pending writes in Oracle Database 12.2 or later. Needs `npm install oracledb`. */
export class OracleCheckpointSaver extends CheckpointSaver {
  constructor(options: OracleCheckpointSaverOptions) {
    assertOptions(TAKER.factory, options, {
      ...connectionKinds(options),
      connection: "object",
      tableName: "string",
      conflict: "string",
      slackBytes: "number",
    });
    const checked = oracleSaverLogOptions(options);
    super({ ...options, access: checked.connection.access, log: new OracleLog(checked) });
  }
}

/** All options of the saver's log, with the defaults filled in. */
export function oracleSaverLogOptions(given: OracleCheckpointSaverOptions): OracleLogOptions {
  const { tableName = DEFAULT_TABLE_NAME } = given;
  const own = (options: OracleConnectionOptions): OracleConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, OracleConnection, connectionKinds(given), own);
  return { connection, names: saverTableNames(tableName), searchRanksUpTo: ranksUpToOf() };
}
