import type { Durability } from "../../driver/durability.ts";
import type { MigratedStore, Part } from "../../driver/migrations.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { VersionWatch } from "../../driver/version-watch.ts";
import { type Asking, ask, type Bounds, nobodyWaitsFor, type TextRow } from "./ask.ts";
import type { ConnectionSettings, PostgresClient, PostgresPool } from "./connect.ts";
import { durabilityOf, SERVER_SETTINGS, type ServerSettings } from "./durability.ts";
import type { TableNames } from "./layout.ts";
import { openPool } from "./open-client.ts";
import { migratedStore, prepareTables } from "./prepare-tables.ts";

interface Contact {
  readonly pool: PostgresPool;
  readonly isOurs: boolean;
  readonly bounds: Bounds;
  readonly durability: Durability;
}

/** A pool whose server has answered. Every facet works with it. */
export class PostgresHandle {
  /** The durability of the server's settings. */
  readonly durability: Durability;
  readonly #contact: Contact;
  readonly #prepared = new Map<string, OpenOnce<VersionWatch>>();

  private constructor(contact: Contact) {
    this.#contact = contact;
    this.durability = contact.durability;
  }

  /** The first contact: reads the server's settings. */
  static async open(settings: ConnectionSettings): Promise<PostgresHandle> {
    const { source } = settings;
    const isOurs = "dsn" in source;
    const pool = isOurs ? await openPool({ ...settings, dsn: source.dsn }) : source.pool;
    // The server ends idle connections when it restarts. Without a listener that would end this process too.
    pool.on("error", ignore);
    pool.on("acquire", listenMeanwhile);
    let durability: Durability | undefined;
    const bounds: Bounds = { ...settings, isOurs, isReplicated: () => durability === "replicated" };
    try {
      const [found] = await ask(pool, bounds, `SELECT ${SERVER_SETTINGS}`);
      durability = durabilityOf(found as unknown as ServerSettings);
      return new PostgresHandle({ pool, isOurs, bounds, durability });
    } catch (error) {
      await letGo(pool, isOurs);
      throw error;
    }
  }

  /** Runs one statement on any connection of the pool. */
  ask(text: string, values: readonly unknown[] = [], asking?: Asking): Promise<readonly TextRow[]> {
    return ask(this.#contact.pool, this.#contact.bounds, text, values, asking);
  }

  /** Creates the tables of a part, or migrates older ones: once per connection, for all facets that use it. */
  prepare(names: TableNames, part: Part): Promise<VersionWatch> {
    const key = `${names.version} ${part.name}`;
    const preparing = this.#prepared.get(key) ?? new OpenOnce(() => this.#prepare(names, part));
    this.#prepared.set(key, preparing);
    return preparing.get();
  }

  async #prepare(names: TableNames, part: Part): Promise<VersionWatch> {
    const { pool, bounds } = this.#contact;
    await prepareTables(pool, names, bounds, part);
    return new VersionWatch(this.tables(names), [part]);
  }

  /** The tables alone, for all parts. */
  tables(names: TableNames): MigratedStore {
    return migratedStore(this.#contact.pool, names, this.#contact.bounds);
  }

  close(): Promise<void> {
    return letGo(this.#contact.pool, this.#contact.isOurs);
  }
}

/**
 * A pool of our own keeps its listener: `end()` returns before the connections are
 * closed, and a server that shuts down at that moment still reports errors to them.
 */
async function letGo(pool: PostgresPool, isOurs: boolean): Promise<void> {
  if (!isOurs) {
    pool.removeListener("error", ignore);
    pool.removeListener("acquire", listenMeanwhile);
    return;
  }
  await nobodyWaitsFor(pool);
  await pool.end();
}

const ignore = (): void => undefined;

/**
 * The pool stops listening to a connection that it hands out, and its promise tells us later. A server that goes down
 * may have said so in the packet that made the connection ready, and that is an event before we can listen.
 */
function listenMeanwhile(client: PostgresClient): void {
  client.on("error", ignore);
  setImmediate(() => client.removeListener("error", ignore));
}
