import { join } from "node:path";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { createKeyFile, fileKeys } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { type Contender, type OpenContender, THREAD } from "./contender.ts";
import { driven } from "./holdfast.ts";
import { driveSaver } from "./langgraph-run.ts";
import { tableBytes } from "./postgres.ts";
import { placeName, serverUrl } from "./server-place.ts";

const asSaver = (checkpointer: Checkpointer): OpenContender =>
  driveSaver(toLangGraphSaver(checkpointer), THREAD, () => checkpointer.close());

/** What a graph of LangGraph gets when holdfast is its saver. */
export const holdfastSaverSqlite: Contender = {
  name: "holdfast as LangGraph's saver, sqlite",
  durability: "fsync",
  open: async (directory) => asSaver(sqliteCheckpointer({ path: join(directory, "graphs.db") })),
};

export const holdfastSaverPostgres: Contender = {
  name: "holdfast as LangGraph's saver, postgres",
  durability: "fsync",
  size: tableBytes,
  open: async (directory) =>
    asSaver(postgresqlCheckpointer({ dsn: serverUrl("postgres"), schema: placeName(directory), maxConnections: 8 })),
};

/** Everything sealed with a key, as it lies on the disk. The keys outlive the instance, as they do with a user. */
export function holdfastSealed(): Contender {
  const sealings = new Map<string, Promise<Sealing>>();
  const sealingOf = async (directory: string): Promise<Sealing> => {
    const keyFile = join(directory, "outer.key");
    await createKeyFile(keyFile);
    return new Sealing({
      keyring: await Keyring.create({ store: new InMemoryStore(), provider: fileKeys(keyFile) }),
    });
  };
  return {
    name: "holdfast sqlite, sealed",
    durability: "fsync",
    open: async (directory) => {
      const sealing = sealings.get(directory) ?? sealingOf(directory);
      sealings.set(directory, sealing);
      return driven(sqliteCheckpointer({ path: join(directory, "sealed.db"), sealing: await sealing }));
    },
  };
}
