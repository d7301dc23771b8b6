import type { SqliteDatabase, SqliteStatement } from "./connect.ts";
import type { TableNames } from "./layout.ts";
import { ITEM_COLUMNS } from "./store-rows.ts";

/** The fixed statements of a store, and the database for those that depend on a filter. */
export interface StoreStatements {
  readonly names: TableNames;
  /** For a statement that is built for one call. */
  prepare(sql: string): SqliteStatement;
  readonly find: SqliteStatement;
  readonly insert: SqliteStatement;
  readonly update: SqliteStatement;
  readonly remove: SqliteStatement;
  readonly ended: SqliteStatement;
  readonly insertWords: SqliteStatement;
  readonly removeWords: SqliteStatement;
  readonly insertVector: SqliteStatement;
  readonly removeVector: SqliteStatement;
  readonly vectorById: SqliteStatement;
  readonly newestPut: SqliteStatement;
  readonly insertPut: SqliteStatement;
  readonly forgetPut: SqliteStatement;
  readonly putOf: SqliteStatement;
  readonly byVersion: SqliteStatement;
  readonly byVector: SqliteStatement;
  readonly findWrite: SqliteStatement;
  readonly insertWrite: SqliteStatement;
  readonly forgetWrites: SqliteStatement;
}

/** How many expired rows a write also removes. */
const PER_SWEEP = 20;

export function prepareStoreStatements(database: SqliteDatabase, names: TableNames): StoreStatements {
  const { items, itemWords, itemVectors, itemPuts, itemWrites } = names;
  const prepare = (sql: string): SqliteStatement => database.prepare(sql);
  return {
    names,
    prepare,
    find: prepare(`SELECT ${ITEM_COLUMNS} FROM ${items} i WHERE i.namespace = ? AND i.key = ?`),
    insert: prepare(
      `INSERT INTO ${items} (namespace, key, version, created_at, updated_at, expires_at, value, metadata, value_fields, metadata_fields)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    ),
    update: prepare(
      `UPDATE ${items} SET version = ?, created_at = ?, updated_at = ?, expires_at = ?, value = ?, metadata = ?,
       value_fields = ?, metadata_fields = ? WHERE id = ?`,
    ),
    remove: prepare(`DELETE FROM ${items} WHERE id = ?`),
    ended: prepare(`SELECT i.id FROM ${items} i WHERE i.expires_at <= ? LIMIT ${PER_SWEEP}`),
    insertWords: prepare(`INSERT INTO ${itemWords} (rowid, text, label, before, after) VALUES (?, ?, ?, ?, ?)`),
    removeWords: prepare(`DELETE FROM ${itemWords} WHERE rowid = ?`),
    insertVector: prepare(`INSERT INTO ${itemVectors} (item, dims, vector) VALUES (?, ?, ?) RETURNING id`),
    removeVector: prepare(`DELETE FROM ${itemVectors} WHERE item = ?`),
    vectorById: prepare(`SELECT vector FROM ${itemVectors} WHERE id = ?`),
    newestPut: prepare(`SELECT max(vector) AS vector FROM ${itemPuts}`),
    insertPut: prepare(`INSERT INTO ${itemPuts} (vector, version) VALUES (?, ?)`),
    forgetPut: prepare(`DELETE FROM ${itemPuts} WHERE vector <= ?`),
    putOf: prepare(`SELECT version FROM ${itemPuts} WHERE vector = ?`),
    byVersion: prepare(`SELECT ${ITEM_COLUMNS} FROM ${items} i WHERE i.id = ? AND i.version = ?`),
    byVector: prepare(`SELECT ${ITEM_COLUMNS} FROM ${itemVectors} v JOIN ${items} i ON i.id = v.item WHERE v.id = ?`),
    findWrite: prepare(
      `SELECT digest, version, created_at, updated_at, expires_at FROM ${itemWrites} WHERE write_key = ?`,
    ),
    insertWrite: prepare(
      `INSERT INTO ${itemWrites} (write_key, digest, version, created_at, updated_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    forgetWrites: prepare(
      `DELETE FROM ${itemWrites} WHERE write_key IN
       (SELECT write_key FROM ${itemWrites} WHERE updated_at < ? ORDER BY updated_at LIMIT ${PER_SWEEP})`,
    ),
  };
}
