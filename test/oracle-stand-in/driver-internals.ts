import { createRequire } from "node:module";

/**
 * The inside of `oracledb`, as far as the stand-in touches it: the session of the
 * network, whose bytes would go out, and the protocol, whose messages would be
 * answered. Everything above (pool, statement cache, binds, LOBs, rows, errors)
 * is the driver's own. The version is pinned in package.json.
 */
const require = createRequire(import.meta.url);

export interface DbType {
  readonly name: string;
}

export interface BindVariable {
  readonly type: DbType;
  readonly dir: number;
  values: unknown[];
}

export interface BindInfo {
  readonly bindName: string;
  bindDir: number;
  readonly bindVar: BindVariable;
}

export interface QueryVariable {
  readonly fetchInfo: { readonly name: string; readonly dbType: DbType; readonly fetchType?: DbType };
  type: DbType;
  maxSize: number;
  values: unknown[];
}

export interface Statement {
  readonly sql: string;
  readonly isQuery: boolean;
  readonly isPlSql: boolean;
  readonly isDdl: boolean;
  readonly noPrefetch: boolean;
  readonly requiresDefine: boolean;
  readonly bindInfoList: readonly BindInfo[];
  cursorId: number;
  queryVars: QueryVariable[];
  numQueryVars: number;
  bufferRowCount: number;
  bufferRowIndex: number;
  moreRowsToFetch: boolean;
  rowCount?: number;
}

export interface LobImpl {
  readonly _locator: Buffer;
  readonly dbType: DbType;
}

/** The members of every kind of message, each of which has some of them. */
export interface Message {
  readonly statement: Statement;
  readonly options: { readonly prefetchRows: number; readonly fetchArraySize: number; readonly autoCommit: boolean };
  readonly resultSet: { metaData: unknown[] };
  readonly resultSetsToSetup: unknown[];
  readonly functionCode: number;
  readonly rowIndex: number;
  readonly numExecs: number;
  readonly operation: number;
  readonly sourceLobImpl: LobImpl;
  readonly sourceOffset: number;
  readonly data?: string | Buffer;
  readonly connection: { readonly nscon: NetworkSession };
  sessionData: Record<string, string>;
  outVariables: unknown[];
  amount: number;
  callStatus: number;
  errorOccurred: boolean;
  errorInfo: { num: number; message: string; pos: number; isRecoverable: boolean };
  inFetch: boolean;
  preProcess?(): void;
  postProcess(): Promise<void>;
}

export interface Protocol {
  readonly nsi: NetworkSession;
  readonly caps: { dbTzOffset: number | null };
  readonly callTimeout: number;
  _encodeMessage(message: Message): Promise<void>;
  _processCallStatus(message: Message): Promise<void>;
  _raiseException(message: Message): never;
}

export interface NetworkSession {
  readonly sAtts: Record<string, unknown>;
  connected: boolean;
  ntAdapter: unknown;
}

type Named<T> = Readonly<Record<string, new (...given: never[]) => T>>;

export const messages = require("oracledb/lib/thin/protocol/messages") as Named<Message>;
export const constants = require("oracledb/lib/thin/protocol/constants.js") as Readonly<Record<string, number>>;
export const types = require("oracledb/lib/types.js") as Readonly<Record<string, DbType>>;
export const errors = require("oracledb/lib/errors.js") as {
  readonly [code: string]: unknown;
  getErr(code: unknown, ...values: unknown[]): Error;
};
export const NetworkSessionClass = (
  require("oracledb/lib/thin/sqlnet/networkSession.js") as {
    readonly NetworkSession: { prototype: Record<string, unknown> };
  }
).NetworkSession as { prototype: Record<string, unknown> };
export const ProtocolClass = require("oracledb/lib/thin/protocol/protocol.js") as {
  prototype: Record<string, unknown>;
};
export const LobClass = require("oracledb/lib/thin/lob.js") as new () => LobImpl;
