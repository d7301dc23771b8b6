import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/deferred-log.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { CheckpointSaver, type SaverRules } from "../../saver/checkpoint-saver.ts";
import { connectionKinds, connectionOf, OracleConnection, type OracleConnectionOptions } from "./connect.ts";
import { DEFAULT_TABLE_NAME, FACTS } from "./facts.ts";
import { saverTableNames } from "./layout.ts";
import type { OracleLogOptions } from "./log.ts";

export interface OracleCheckpointSaverOptions extends CheckpointerOptions, SaverRules, OracleConnectionOptions {
  /** What `oracleConnection()` returned, instead of a `dsn` or a `pool`: a checkpointer or a store may hold it too. */
  readonly connection?: OracleConnection;
  /**
   * What the names of the tables begin with, with or without `OWNER.`: "locus" makes
   * LOCUS_CHECKPOINTS and LOCUS_WRITES, and LOCUS_LOG with the values. @default "HOLDFAST"
   */
  readonly tableName?: string;
}

const TAKER = { factory: "OracleCheckpointSaver", opener: "oracleConnection" };

/** A versioned history with pending writes in Oracle Database 12.2 or later. `npm install oracledb`. */
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
    const load = async () => new (await import("./log.ts")).OracleLog(checked);
    const { connection } = checked;
    super({ ...options, access: connection.access, log: new DeferredLog(FACTS, load, connection.hold()) });
  }
}

/** Everything the saver's log needs, with the defaults filled in. */
export function oracleSaverLogOptions(given: OracleCheckpointSaverOptions): OracleLogOptions {
  const { tableName = DEFAULT_TABLE_NAME } = given;
  const own = (options: OracleConnectionOptions): OracleConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, OracleConnection, connectionKinds(given), own);
  return { connection, names: saverTableNames(tableName) };
}
