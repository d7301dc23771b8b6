import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { peerPackage } from "../peer-packages.ts";
import { type Contender, type OpenContender, THREAD } from "./contender.ts";
import { tableBytes } from "./postgres.ts";
import { placeName, serverUrl } from "./server-place.ts";

/** What Mastra's memory asks of its storage. It is loaded when it is measured: it takes a second. */
interface MastraStore {
  init(): Promise<void>;
  saveThread(given: { thread: object }): Promise<unknown>;
  saveMessages(given: { messages: readonly object[]; format: "v2" }): Promise<unknown>;
  getMessages(given: { threadId: string; format: "v2"; selectBy: { last: number } }): Promise<readonly unknown[]>;
}

interface ClosableStore extends MastraStore {
  close(): Promise<void>;
}

interface LibSql {
  createClient(given: { url: string }): {
    execute(sql: string): Promise<{ rows: readonly Readonly<Record<string, unknown>>[] }>;
    close(): void;
  };
}

const RESOURCE = "user-1";

/** As it is shipped it sets synchronous=NORMAL for itself, where a power cut takes the last messages along; here it syncs as ours does. */
export const mastraLibSql: Contender = {
  name: "Mastra LibSQLStore, synchronous=FULL",
  durability: "fsync",
  open: async (directory) => {
    const { LibSQLStore } = await peerPackage<{ LibSQLStore: new (given: object) => MastraStore }>("@mastra/libsql");
    const { createClient } = await peerPackage<LibSql>("@libsql/client");
    const client = createClient({ url: `file:${join(directory, "mastra.db")}` });
    const store = await driven(new LibSQLStore({ client }), async () => {
      const { rows } = await client.execute("PRAGMA synchronous");
      client.close();
      if (Number(rows[0]?.["synchronous"]) < 2) throw new Error("LibSQLStore did not sync each commit");
    });
    await client.execute("PRAGMA synchronous=FULL");
    return store;
  },
};

export const mastraPostgres: Contender = {
  name: "Mastra PostgresStore",
  durability: "fsync",
  size: tableBytes,
  open: async (directory) => {
    const { PostgresStore } = await peerPackage<{ PostgresStore: new (given: object) => ClosableStore }>("@mastra/pg");
    const options = { connectionString: serverUrl("postgres"), schemaName: placeName(directory), max: 8 };
    const store = new PostgresStore(options);
    return driven(store, () => store.close());
  },
};

/** A thread of messages: there are no checkpoints, so there is no history to list. */
async function driven(store: MastraStore, close: () => Promise<void>): Promise<OpenContender> {
  await store.init();
  const now = new Date();
  let hasThread = false;
  return {
    append: async ({ role, content }) => {
      const thread = { id: THREAD, resourceId: RESOURCE, title: "", metadata: {}, createdAt: now, updatedAt: now };
      if (!hasThread) await store.saveThread({ thread });
      hasThread = true;
      const parts = [{ type: "text", text: content }];
      const message = {
        id: randomUUID(),
        role,
        threadId: THREAD,
        resourceId: RESOURCE,
        type: "v2",
        createdAt: new Date(),
        content: { format: 2, parts, content },
      };
      await store.saveMessages({ messages: [message], format: "v2" });
    },
    load: async () => (await store.getMessages({ threadId: THREAD, format: "v2", selectBy: { last: 10_000 } })).length,
    close,
  };
}
