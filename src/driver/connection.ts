import { StateError } from "../errors.ts";
import { type Access, assertAccess } from "./access.ts";
import { OpenOnce } from "./open-once.ts";
import { invalid, type OptionKinds } from "./options.ts";

/** How the client, pool or file of a storage is opened and closed. */
export interface ConnectionSource<Opened> {
  open(): Promise<Opened>;
  /** Closes what `open` made. A client that was handed in stays open; the source knows which case it is. */
  close(opened: Opened): Promise<void>;
  /**
   * Called when the first lease is taken, whether or not it is used. The function
   * it returns is called after the last release.
   */
  held?(): () => void;
}

/** What was opened, and how many work with it. */
interface Use<Opened> {
  readonly opening: OpenOnce<Opened>;
  readonly users: Set<symbol>;
}

/**
 * One connection for every facet of a storage: a log, a store and a saver each
 * hold a lease. It is opened when the first of them is used and closed when the
 * last lease is released. A lease that is taken after that opens it again.
 */
export class SharedConnection<Opened> {
  readonly #source: ConnectionSource<Opened>;
  readonly #holders = new Set<symbol>();
  #letGo: (() => void) | undefined;
  #use: Use<Opened>;

  constructor(source: ConnectionSource<Opened>) {
    this.#source = source;
    this.#use = this.#unused();
  }

  /**
   * A lease for one facet. `prepare` turns the connection into what the facet
   * works with, and migrates that facet's own tables only. Nothing is opened yet.
   */
  lease<Prepared>(prepare: (opened: Opened) => Promise<Prepared>): Lease<Prepared> {
    const holder = Symbol("lease");
    if (this.#holders.size === 0) this.#letGo = this.#source.held?.();
    this.#holders.add(holder);
    return new Lease(
      () => this.#open(holder, prepare),
      () => this.#release(holder),
    );
  }

  /**
   * When no other holder uses the connection, a failed preparation closes it, so that
   * the next attempt opens a new one. The cause may lie in the opening itself, for
   * example a file that could only be opened for reading.
   */
  async #open<Prepared>(holder: symbol, prepare: (opened: Opened) => Promise<Prepared>): Promise<Prepared> {
    const use = this.#use;
    use.users.add(holder);
    try {
      return await prepare(await use.opening.get());
    } catch (error) {
      use.users.delete(holder);
      // The first failure is the one to report.
      if (use.users.size === 0) await this.#end(use).catch(() => undefined);
      throw error;
    }
  }

  async #release(holder: symbol): Promise<void> {
    this.#holders.delete(holder);
    this.#use.users.delete(holder);
    if (this.#holders.size > 0) return;
    const letGo = this.#letGo;
    try {
      await this.#end(this.#use);
    } finally {
      letGo?.();
    }
  }

  /** The next caller opens a new connection. */
  async #end(use: Use<Opened>): Promise<void> {
    if (this.#use !== use) return;
    this.#use = this.#unused();
    const opened = await use.opening.opened();
    if (opened !== undefined) await this.#source.close(opened);
  }

  #unused(): Use<Opened> {
    return { opening: new OpenOnce(() => this.#source.open()), users: new Set() };
  }
}

/** One facet's right to use a connection. It is not affected when other facets release theirs. */
export class Lease<Prepared> {
  readonly #preparing: OpenOnce<Prepared>;
  readonly #release: () => Promise<void>;
  #releasing: Promise<void> | undefined;

  constructor(prepare: () => Promise<Prepared>, release: () => Promise<void>) {
    this.#preparing = new OpenOnce(prepare);
    this.#release = release;
  }

  /**
   * Opens the connection if it is not open, and prepares it once. A failure is not
   * remembered. Throws CLOSED after `release`.
   */
  get(): Promise<Prepared> {
    if (this.#releasing === undefined) return this.#preparing.get();
    return Promise.reject(new StateError("CLOSED", "the connection was closed"));
  }

  /**
   * The prepared connection, or the promise of it; `undefined` before the first use and
   * after a failed preparation. Opens nothing.
   */
  opened(): Promise<Prepared | undefined> {
    return this.#preparing.opened();
  }

  /** Closes the connection if this was the last lease, after an opening that is under way. May be called twice. */
  release(): Promise<void> {
    this.#releasing ??= this.opened().then(() => this.#release());
    return this.#releasing;
  }
}

/** The names that messages use for the two functions below. */
export interface ConnectionTaker {
  /** The function that was given the options. */
  readonly factory: string;
  /** The function that makes a connection of this backend. */
  readonly opener: string;
}

/**
 * The connection that a facet was given, or a new one made from its options.
 * Connection options beside a given connection are refused, because they would be
 * ignored silently.
 */
export function connectionFor<Connection extends object, Options extends object>(
  { factory, opener }: ConnectionTaker,
  given: Options & { readonly connection?: Connection },
  kind: abstract new (...args: never[]) => Connection,
  ofConnection: OptionKinds,
  make: (options: Options) => Connection,
): Connection {
  const { connection } = given;
  if (connection === undefined) return make(given);
  if (!(connection instanceof kind)) {
    throw invalid(`${factory}(): connection must be what ${opener}() returned; a client of your own is another option`);
  }
  const beside = Object.keys(ofConnection).find((name) => given[name as keyof typeof given] !== undefined);
  if (beside === undefined) return connection;
  throw invalid(`${factory}(): ${beside} is the connection's own; give it to ${opener}()`);
}

/** What bounds a pool of connections to a server, and what is done through it. */
export interface PoolBounds {
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly access: Access;
}

/** The options with these names, each with its kind. */
export const POOL_BOUNDS = {
  maxConnections: "number",
  connectTimeoutMs: "number",
  statementTimeoutMs: "number",
  access: "string",
} as const;

/** The bounds that were given, checked, with the defaults filled in. */
export function poolBounds(
  given: { readonly [Name in keyof PoolBounds]?: PoolBounds[Name] | undefined },
  patienceMs = 10_000,
): PoolBounds {
  const { maxConnections = 10, connectTimeoutMs = patienceMs, statementTimeoutMs = 30_000, access = "write" } = given;
  assertAccess(access);
  for (const [name, value] of Object.entries({ maxConnections, connectTimeoutMs, statementTimeoutMs })) {
    if (!Number.isInteger(value) || value <= 0) throw invalid(`${name} must be a whole number greater than 0`);
  }
  return { maxConnections, connectTimeoutMs, statementTimeoutMs, access };
}

/** A dsn or a pool, and not both. `opener` takes no connection, because it makes one. */
export function assertDsnOrPool(taker: string, opener: string, given: { dsn?: unknown; pool?: unknown }): void {
  if ((given.dsn === undefined) !== (given.pool === undefined)) return;
  throw invalid(`${taker}() takes either a dsn or a pool${taker === opener ? "" : ", or a connection"}`);
}
