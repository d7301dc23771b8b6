import { randomBytes } from "node:crypto";
import { createPool, type RowDataPacket } from "mysql2/promise";

/** A database of a suite's own on a shared server. */
export interface MysqlPlace {
  /** Of a user who may do everything. */
  readonly url: string;
  /** Fresh each time: tables of another prefix are another store. */
  readonly prefix: () => string;
  readonly sql: (text: string) => Promise<readonly Record<string, unknown>[]>;
  /** An account of this suite's own that may connect to the database; its URL and its name. */
  readonly role: () => Promise<{ readonly name: string; readonly url: string }>;
  /** Removes the database with everything in it, and the accounts. */
  readonly dispose: () => Promise<void>;
}

export async function mysqlPlace(server: string): Promise<MysqlPlace> {
  const database = `suite_${randomBytes(6).toString("hex")}`;
  const pool = createPool({ uri: server, connectionLimit: 2 });
  const sql = async (text: string): Promise<RowDataPacket[]> => (await pool.query<RowDataPacket[]>(text))[0];
  await sql(`CREATE DATABASE ${database}`);
  const url = new URL(server);
  url.pathname = `/${database}`;
  let prefixes = 0;
  const roles: string[] = [];
  return {
    url: url.href,
    prefix: () => `p${++prefixes}_`,
    sql: (text) => sql(text.replaceAll("{database}", database)),
    role: async () => {
      const [user, password] = [`${database}_${roles.length + 1}`.slice(-32), randomBytes(12).toString("hex")];
      const name = `'${user}'@'127.0.0.1'`;
      roles.push(name);
      await sql(`CREATE USER ${name} IDENTIFIED BY '${password}'`);
      const own = new URL(url);
      [own.username, own.password] = [user, password];
      return { name, url: own.href };
    },
    dispose: async () => {
      await sql(`DROP DATABASE ${database}`);
      for (const name of roles) await sql(`DROP USER ${name}`);
      await pool.end();
    },
  };
}
