import { type BoundValue, type Outcome, ServerError, type StandInDatabase } from "./database.ts";
import {
  type BindInfo,
  constants,
  type DbType,
  LobClass,
  type Message,
  messages,
  type Protocol,
  type Statement,
  types,
} from "./driver-internals.ts";

/** 23.6, as a server says it at logon. */
const VERSION = 0x17_06_00_00;
const CHUNK_BYTES = 8060;
/** Where in a locator its number stands: behind everything that the driver reads of one. */
const LOCATOR_NUMBER = 24;

const is = (message: Message, name: string): boolean => message instanceof (messages[name] ?? Object);

/** Answers the messages of one session as a server does. */
export class StandInWire {
  readonly #opened: StandInDatabase | ServerError;
  readonly #lobs = new Map<number, (string | Buffer)[]>();
  readonly #cursors = new Map<number, (readonly unknown[])[]>();
  #numbers = 0;

  constructor(opened: StandInDatabase | ServerError) {
    this.#opened = opened;
  }

  get isInTransaction(): boolean {
    return !(this.#opened instanceof ServerError) && this.#opened.isInTransaction;
  }

  async end(): Promise<void> {
    if (!(this.#opened instanceof ServerError)) await this.#opened.end().catch(() => undefined);
  }

  cancel(): void {
    if (!(this.#opened instanceof ServerError)) void this.#opened.cancel().catch(() => undefined);
  }

  async answer(protocol: Protocol, message: Message): Promise<void> {
    if (is(message, "ProtocolMessage")) protocol.caps.dbTzOffset = 0;
    else if (is(message, "AuthMessage")) this.#logOn(message);
    else if (is(message, "FetchMessage")) this.#deliver(message, message.options.fetchArraySize);
    else if (is(message, "ExecuteMessage")) await this.#execute(message);
    else if (is(message, "LobOpMessage")) this.#operateLob(message);
    else if (is(message, "CommitMessage")) await this.#database.commit();
    else if (is(message, "RollbackMessage")) await this.#database.rollback();
    else if (is(message, "LogOffMessage")) await this.#database.rollback();
    else if (!is(message, "DataTypeMessage") && !is(message, "PingMessage")) {
      throw new Error(`the stand-in has no answer to a ${message.constructor.name}`);
    }
  }

  get #database(): StandInDatabase {
    if (this.#opened instanceof ServerError) throw this.#opened;
    return this.#opened;
  }

  #logOn(message: Message): void {
    if (this.#opened instanceof ServerError) throw this.#opened;
    message.sessionData = {
      AUTH_VERSION_NO: String(VERSION),
      AUTH_MAX_IDEN_LENGTH: "128",
      AUTH_MAX_OPEN_CURSORS: "300",
    };
  }

  async #execute(message: Message): Promise<void> {
    const { statement, options } = message;
    // A definition of columns: nothing is executed.
    if (statement.requiresDefine) return;
    if (message.numExecs > 1) throw new Error("the stand-in has no array DML");
    const commits = options.autoCommit && !statement.isQuery;
    const facts = {
      sql: statement.sql,
      isBlock: statement.isPlSql,
      isQuery: statement.isQuery,
      isDdl: statement.isDdl,
      commits,
    };
    const outcome = await this.#database.execute(facts, this.#bindsOf(statement));
    const isFirst = statement.cursorId === 0;
    if (isFirst) statement.cursorId = ++this.#numbers;
    if (!statement.isQuery) return this.#giveOut(message, outcome);
    this.#cursors.set(statement.cursorId, [...outcome.rows]);
    if (isFirst) describe(message, outcome);
    if (statement.noPrefetch || outcome.columns.some(({ type }) => NEVER_PREFETCHED.has(type))) return;
    const isPrefetch = isFirst || message.functionCode === constants["TNS_FUNC_REEXECUTE_AND_FETCH"];
    this.#deliver(message, isPrefetch ? options.prefetchRows : options.fetchArraySize);
  }

  #giveOut(message: Message, { out, rowCount }: Outcome): void {
    const { statement } = message;
    if (!statement.isPlSql) statement.rowCount = rowCount;
    message.outVariables = [];
    for (const info of statement.bindInfoList) {
      const isOut = info.bindVar.dir === BIND_OUT;
      info.bindDir = (isOut ? constants["TNS_BIND_DIR_OUTPUT"] : constants["TNS_BIND_DIR_INPUT"]) ?? 0;
      if (!isOut) continue;
      const value = out[info.bindName.toLowerCase()];
      const isText = KINDS.get(info.bindVar.type) === "text";
      info.bindVar.values[0] = value === null || value === undefined ? null : isText ? String(value) : Number(value);
      message.outVariables.push(info.bindVar);
    }
  }

  /** Delivers up to `most` rows into the driver's buffer. Only a server that ran out of them knows that it did. */
  #deliver({ statement, rowIndex }: Message, most: number): void {
    const left = this.#cursors.get(statement.cursorId) ?? [];
    const rows = left.splice(0, most);
    if (rows.length < most) statement.moreRowsToFetch = false;
    for (const [index, row] of rows.entries()) {
      for (const [column, variable] of statement.queryVars.entries()) {
        variable.values[rowIndex + index] = wireValue(row[column], variable.fetchInfo.dbType);
      }
    }
    statement.bufferRowCount = rowIndex + rows.length;
  }

  #bindsOf({ bindInfoList }: Statement): readonly BoundValue[] {
    const byName = new Map(bindInfoList.map((info) => [info.bindName, this.#bindOf(info)]));
    return [...byName.values()];
  }

  #bindOf({ bindName, bindVar }: BindInfo): BoundValue {
    if (bindVar.dir === BIND_OUT) {
      return { name: bindName, kind: KINDS.get(bindVar.type) === "text" ? "out text" : "out number", value: null };
    }
    const [given] = bindVar.values;
    const value = given instanceof LobClass ? this.#contentOf(given._locator) : given;
    const kind = KINDS.get(bindVar.type);
    if (kind === undefined)
      throw new ServerError({ num: 3115, message: `ORA-03115: unsupported network datatype ${bindVar.type.name}` });
    if (value instanceof Float32Array) return { name: bindName, kind, value: `[${value.join(",")}]` };
    return { name: bindName, kind, value: (value ?? null) as BoundValue["value"] };
  }

  #operateLob(message: Message): void {
    const { _locator: locator } = message.sourceLobImpl;
    if (message.operation === constants["TNS_LOB_OP_CREATE_TEMP"]) {
      locator.writeUInt32BE(++this.#numbers, LOCATOR_NUMBER);
      this.#lobs.set(this.#numbers, []);
    } else if (message.operation === constants["TNS_LOB_OP_GET_CHUNK_SIZE"]) message.amount = CHUNK_BYTES;
    else if (message.operation === constants["TNS_LOB_OP_WRITE"]) {
      this.#lobs.get(locator.readUInt32BE(LOCATOR_NUMBER))?.push(message.data ?? "");
    } else throw new Error(`the stand-in has no LOB operation ${message.operation}`);
  }

  #contentOf(locator: Buffer): string | Buffer {
    const pieces = this.#lobs.get(locator.readUInt32BE(LOCATOR_NUMBER)) ?? [];
    this.#lobs.delete(locator.readUInt32BE(LOCATOR_NUMBER));
    const [first] = pieces;
    return typeof first === "string" ? pieces.join("") : Buffer.concat(pieces as Buffer[]);
  }
}

const BIND_OUT = 3003;
const NEVER_PREFETCHED: ReadonlySet<string> = new Set(["clob", "blob", "vector"]);

const typeNamed = (name: string): DbType => {
  const type = types[name];
  if (type === undefined) throw new Error(`the driver has no type ${name}`);
  return type;
};

const NUMBER = typeNamed("DB_TYPE_NUMBER");
const COLUMN_TYPES = {
  text: typeNamed("DB_TYPE_VARCHAR"),
  number: NUMBER,
  bytes: typeNamed("DB_TYPE_RAW"),
  clob: typeNamed("DB_TYPE_CLOB"),
  blob: typeNamed("DB_TYPE_BLOB"),
  vector: typeNamed("DB_TYPE_VECTOR"),
} as const;
const KINDS: ReadonlyMap<DbType, "text" | "number" | "bytes" | "vector"> = new Map([
  [COLUMN_TYPES.vector, "vector"],
  [COLUMN_TYPES.text, "text"],
  [COLUMN_TYPES.clob, "text"],
  [COLUMN_TYPES.number, "number"],
  [COLUMN_TYPES.bytes, "bytes"],
  [COLUMN_TYPES.blob, "bytes"],
]);

/** What the driver learns of the columns when a statement runs for the first time. */
function describe(message: Message, { columns }: Outcome): void {
  const { statement } = message;
  statement.queryVars = columns.map(({ name, type }) => {
    const dbType = COLUMN_TYPES[type];
    const fetchInfo = { name, dbColumnName: name, nullable: true, dbType, isJson: false, isOson: false };
    return { fetchInfo, type: dbType, maxSize: 4000, values: [] };
  });
  statement.numQueryVars = columns.length;
  statement.bufferRowCount = 0;
  statement.bufferRowIndex = 0;
  message.resultSet.metaData = statement.queryVars.map(({ fetchInfo }) => fetchInfo);
  message.resultSetsToSetup.push(message.resultSet);
  message.outVariables = statement.queryVars;
}

/** A number is text on the wire, and an empty text is NULL. */
function wireValue(value: unknown, type: DbType): unknown {
  if (value === null || value === undefined || value === "") return null;
  if (Buffer.isBuffer(value)) return value.length === 0 ? null : value;
  if (type === COLUMN_TYPES.vector) return Float32Array.from(JSON.parse(String(value)) as number[]);
  return type === NUMBER ? String(value) : value;
}
