import { Redis } from "ioredis";
import { Pool } from "pg";
import type { ObjectBucket } from "../../src/driver/object-bucket.ts";
import type { MysqlPlace } from "../services/mysql-place.ts";

/**
 * All that a server holds of a place, as one text, past every driver: also what lies in indexes and beside the records,
 * which no call of a checkpointer or a store gives back.
 */
export type StoredIn = () => Promise<string>;

/** Texts as they are, so that what is in them can be looked for; bytes as the texts that they are. */
const textOf = (value: unknown): string => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  return typeof value === "string" ? value : JSON.stringify(value);
};

const ofRow = (row: object): string => Object.values(row).map(textOf).join("\n");

/** Every table of a schema. */
export const inPostgres =
  (url: string, schema: string): StoredIn =>
  async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    try {
      const tables = await pool.query<{ readonly name: string }>(
        "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = $1",
        [schema],
      );
      const rows: string[] = [];
      for (const { name } of tables.rows) {
        for (const row of (await pool.query<object>(`SELECT * FROM ${name}`)).rows) rows.push(ofRow(row));
      }
      return rows.join("\n");
    } finally {
      await pool.end();
    }
  };

/** Every table of a database. */
export const inMysql =
  ({ sql }: MysqlPlace): StoredIn =>
  async () => {
    const tables = await sql(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '{database}'",
    );
    const rows: string[] = [];
    for (const { name } of tables) {
      for (const row of await sql(`SELECT * FROM {database}.${String(name)}`)) rows.push(ofRow(row));
    }
    return rows.join("\n");
  };

/** Every key that holds the text. */
export const inRedis =
  (url: string, text: string): StoredIn =>
  async () => {
    const client = new Redis(url);
    try {
      const values: string[] = [];
      for (const key of await client.keys(`*${text}*`)) {
        values.push(key, ...(await valuesAt(client, key)).map((value) => value.toString("latin1")));
      }
      return values.join("\n");
    } finally {
      client.disconnect();
    }
  };

async function valuesAt(client: Redis, key: string): Promise<readonly Buffer[]> {
  const kind = await client.type(key);
  if (kind === "string") return [(await client.getBuffer(key)) ?? Buffer.alloc(0)];
  if (kind === "hash")
    return Object.values(await client.hgetallBuffer(key)).concat((await client.hkeysBuffer(key)) ?? []);
  if (kind === "zset") return client.zrangeBuffer(key, 0, "-1");
  if (kind === "set") return client.smembersBuffer(key);
  if (kind === "list") return client.lrangeBuffer(key, 0, "-1");
  throw new Error(`a key of another kind: ${kind}`);
}

/** Every object below a prefix. */
export const inBucket =
  (open: () => Promise<ObjectBucket>, prefix: string): StoredIn =>
  async () => {
    const bucket = await open();
    try {
      const texts: string[] = [];
      for await (const names of bucket.list({ prefix })) {
        for (const name of names) texts.push(name, (await bucket.get(name))?.bytes.toString("latin1") ?? "");
      }
      return texts.join("\n");
    } finally {
      await bucket.close();
    }
  };
