import { join } from "node:path";
import { configure, openDatabase } from "../../src/backends/sqlite/open-file.ts";
import type { Contender } from "./contender.ts";

/** The floor: one prepared INSERT of the message's JSON, with the very settings of our SQLite backend. No history, no conflicts. */
export const rawInsert: Contender = {
  name: "raw one-row INSERT",
  durability: "fsync",
  open: async (directory) => {
    const database = await openDatabase(join(directory, "raw.db"));
    configure(database);
    database.exec("CREATE TABLE IF NOT EXISTS messages (position INTEGER PRIMARY KEY, message BLOB NOT NULL)");
    const insert = database.prepare("INSERT INTO messages (message) VALUES (?)");
    const all = database.prepare("SELECT message FROM messages ORDER BY position");
    return {
      append: async (message) => {
        insert.run(Buffer.from(JSON.stringify(message)));
      },
      load: async () => {
        const rows = all.all() as { readonly message: Uint8Array }[];
        return rows.map(({ message }) => JSON.parse(Buffer.from(message).toString()) as unknown).length;
      },
      close: async () => {
        database.close();
      },
    };
  },
};
