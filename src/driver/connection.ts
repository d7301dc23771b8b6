import { StateError } from "../errors.ts";
import { OpenOnce } from "./open-once.ts";
import { invalid, type OptionKinds } from "./options.ts";

/** How the client, pool or file of a storage is opened and closed. */
export interface ConnectionSource<Opened> {
  open(): Promise<Opened>;
  /** Closes what `open` made. What was handed in stays open: that is for the source to know. */
  close(opened: Opened): Promise<void>;
}

/** What was opened, and who works with it. */
interface Use<Opened> {
  readonly opening: OpenOnce<Opened>;
  readonly users: Set<Lease<Opened>>;
}

/**
 * One connection for every facet of a storage: a log, a store and a saver each
 * hold a lease. It is opened when the first of them is used and closed when the
 * last lease is released. A lease that is taken after that opens it again.
 */
export class SharedConnection<Opened> {
  readonly #source: ConnectionSource<Opened>;
  readonly #leases = new Set<Lease<Opened>>();
  #use: Use<Opened>;

  constructor(source: ConnectionSource<Opened>) {
    this.#source = source;
    this.#use = this.#unused();
  }

  /** Opens nothing. Whoever holds it keeps the connection open for itself, whatever the others do. */
  lease(): Lease<Opened> {
    const lease: Lease<Opened> = new Lease({
      open: (prepare) => this.#open(lease, prepare),
      release: () => this.#release(lease),
    });
    this.#leases.add(lease);
    return lease;
  }

  /**
   * Where nobody works with what was opened, a failed preparation closes it, so
   * that the next attempt opens it anew: what was wrong may lie in the opening,
   * as with a file that could only be opened for reading.
   */
  async #open<Prepared>(lease: Lease<Opened>, prepare: (opened: Opened) => Promise<Prepared>): Promise<Prepared> {
    const use = this.#use;
    use.users.add(lease);
    try {
      return await prepare(await use.opening.get());
    } catch (error) {
      use.users.delete(lease);
      // The failure that matters is the first one.
      if (use.users.size === 0) await this.#end(use).catch(() => undefined);
      throw error;
    }
  }

  async #release(lease: Lease<Opened>): Promise<void> {
    this.#leases.delete(lease);
    this.#use.users.delete(lease);
    if (this.#leases.size === 0) await this.#end(this.#use);
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

interface LeaseDuties<Opened> {
  readonly open: <Prepared>(prepare: (opened: Opened) => Promise<Prepared>) => Promise<Prepared>;
  readonly release: () => Promise<void>;
}

/** One facet's right to a connection. */
export class Lease<Opened> {
  readonly #duties: LeaseDuties<Opened>;
  #underWay: Promise<unknown> = Promise.resolve();
  #releasing: Promise<void> | undefined;

  constructor(duties: LeaseDuties<Opened>) {
    this.#duties = duties;
  }

  /** Opens the connection where nobody has, and makes of it what this facet needs. A failure is not remembered. */
  async open<Prepared>(prepare: (opened: Opened) => Promise<Prepared>): Promise<Prepared> {
    this.assertHeld();
    const work = this.#duties.open(prepare);
    this.#underWay = Promise.allSettled([this.#underWay, work]);
    return work;
  }

  assertHeld(): void {
    if (this.#releasing !== undefined) throw new StateError("CLOSED", "the connection was closed");
  }

  /** Closes the connection where nobody else holds a lease, after an opening that is under way. May be called twice. */
  release(): Promise<void> {
    this.#releasing ??= this.#underWay.then(() => this.#duties.release());
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
