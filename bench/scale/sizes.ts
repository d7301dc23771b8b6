import { statSync } from "node:fs";
import pg from "pg";

export interface PartSize {
  readonly name: string;
  readonly bytes: number;
  /** For a B-tree: pages from the root to a leaf. */
  readonly depth?: number;
}

/** Every table and index of a schema. */
export async function postgresSizes(url: string, schema: string): Promise<readonly PartSize[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("CREATE EXTENSION IF NOT EXISTS pageinspect");
    const { rows } = await client.query<{ name: string; bytes: string; is_btree: boolean }>(
      `SELECT c.relname AS name, a.amname = 'btree' AS is_btree,
         (CASE c.relkind WHEN 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END) AS bytes
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am a ON a.oid = c.relam
       WHERE n.nspname = $1 AND c.relkind IN ('r', 'i') ORDER BY 3 DESC`,
      [schema],
    );
    const sizes: PartSize[] = [];
    for (const { name, bytes, is_btree: isBtree } of rows) {
      const depth = isBtree ? await depthOf(client, `"${schema}"."${name}"`) : undefined;
      sizes.push({ name, bytes: Number(bytes), ...(depth !== undefined && { depth }) });
    }
    return sizes;
  } finally {
    await client.end();
  }
}

const depthOf = async (client: pg.Client, index: string): Promise<number> =>
  Number((await client.query<{ level: string }>("SELECT level FROM bt_metap($1)", [index])).rows[0]?.level) + 1;

export const sqliteSizes = (path: string): readonly PartSize[] => [{ name: "file", bytes: statSync(path).size }];
