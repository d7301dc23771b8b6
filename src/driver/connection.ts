import { StateError } from "../errors.ts";
import { OpenOnce } from "./open-once.ts";
import { invalid, type OptionKinds } from "./options.ts";

/** How the client, pool or file of a storage is opened and closed. */
export interface ConnectionSource<Opened> {
  open(): Promise<Opened>;
  /** Closes what `open` made. What was handed in stays open: that is for the source to know. */
  close(opened: Opened): Promise<void>;
  /** Called when the first lease is taken, used or not; what it returns is called after the last one was released. */
  held?(): () => void;
}

/** What was opened, and who works with it. */
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
   * For one facet. `prepare` makes of the connection what the facet works with:
   * it brings its own tables up to date, and no others. Opens nothing yet.
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

  /** Keeps the connection open without using it, for a facet whose code is not loaded yet. */
  hold(): Lease<void> {
    return this.lease(async () => undefined);
  }

  /**
   * Where nobody works with what was opened, a failed preparation closes it, so
   * that the next attempt opens it anew: what was wrong may lie in the opening,
   * as with a file that could only be opened for reading.
   */
  async #open<Prepared>(holder: symbol, prepare: (opened: Opened) => Promise<Prepared>): Promise<Prepared> {
    const use = this.#use;
    use.users.add(holder);
    try {
      return await prepare(await use.opening.get());
    } catch (error) {
      use.users.delete(holder);
      // The failure that matters is the first one.
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

  /** Whoever asks from now on opens anew. */
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

/** One facet's right to a connection. Whoever holds it is not concerned when others release theirs. */
export class Lease<Prepared> {
  readonly #preparing: OpenOnce<Prepared>;
  readonly #release: () => Promise<void>;
  #releasing: Promise<void> | undefined;

  constructor(prepare: () => Promise<Prepared>, release: () => Promise<void>) {
    this.#preparing = new OpenOnce(prepare);
    this.#release = release;
  }

  /** Opens the connection where nobody has, and prepares it once. A failure is forgotten. CLOSED after `release`. */
  get(): Promise<Prepared> {
    if (this.#releasing === undefined) return this.#preparing.get();
    return Promise.reject(new StateError("CLOSED", "the connection was closed"));
  }

  /** What is prepared, or is being prepared; `undefined` where nobody asked, or where it failed. Opens nothing. */
  opened(): Promise<Prepared | undefined> {
    return this.#preparing.opened();
  }

  /** Closes the connection where nobody else holds a lease, after an opening that is under way. May be called twice. */
  release(): Promise<void> {
    this.#releasing ??= this.opened().then(() => this.#release());
    return this.#releasing;
  }
}

/** Who takes a connection, and who makes it: for messages. */
export interface ConnectionTaker {
  /** The function that was given the options. */
  readonly factory: string;
  /** The function that makes a connection of this backend. */
  readonly opener: string;
}

/**
 * The connection that a facet was given; or, where it was given options of one,
 * a connection of its own. It takes no options of a connection beside one: they
 * would be ignored in silence.
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
