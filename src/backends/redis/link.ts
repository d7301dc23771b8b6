import type { Access } from "../../driver/access.ts";
import type { Durability } from "../../driver/durability.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import type { ConnectionSettings } from "./connect.ts";
import type { GivenClient } from "./given-client.ts";
import { type ConnectOptions, connect, portOf } from "./open-port.ts";
import { type RedisPort, within } from "./port.ts";
import { type RunScript, run } from "./run-script.ts";

/** A connection that is ready, and how to run a script over it. */
export interface ReachedServer {
  readonly port: RedisPort;
  readonly run: RunScript;
}

/**
 * The connection that calls use, and its replacement when it stops working. A server
 * can fall silent without notice (a cable, a machine, a firewall that dropped its
 * state), so a call that times out abandons its connection: the next call uses a new
 * one. Calls in progress on the old one fail with a retryable error, which is safe
 * because every append carries its write id.
 */
export class Link {
  readonly #options: ConnectOptions;
  readonly #access: Access;
  readonly #connection: OpenOnce<RedisPort> = new OpenOnce(() => this.#connect());
  /** The port in use. */
  #current: RedisPort | undefined;
  /** How to run a script over it. */
  #reached: ReachedServer | undefined;
  /** The last port that was in use, which can make its successor. */
  #last: RedisPort | undefined;
  /** Cluster clients with one silent node: calls to the other nodes may still finish. */
  readonly #retired = new Map<RedisPort, NodeJS.Timeout>();
  #closed = false;
  #durability: Durability | undefined;

  private constructor(options: ConnectOptions, access: Access) {
    this.#options = options;
    this.#access = access;
  }

  /** Does not connect yet. */
  static over(settings: ConnectionSettings, given: GivenClient | undefined): Link {
    return new Link({ ...settings, given: given && portOf(given, settings) }, settings.access);
  }

  /** What the server reported on first contact; `undefined` before that. */
  get durability(): Durability | undefined {
    return this.#durability;
  }

  async server(): Promise<ReachedServer> {
    const port = await this.port();
    if (this.#reached?.port === port) return this.#reached;
    const reached: ReachedServer = {
      port,
      run: (script, keys, args = []) => this.answer(port, run(port, script, keys, args, this.#access)),
    };
    this.#reached = reached;
    return reached;
  }

  /** What `server` would return, where nothing has to be waited for. */
  get reached(): ReachedServer | undefined {
    const reached = this.#reached;
    if (reached === undefined || reached.port !== this.#current || this.#closed) return undefined;
    return reached.port.isReady ? reached : undefined;
  }

  /** A port that is ready. */
  async port(): Promise<RedisPort> {
    let port = await this.#connected();
    if (port.hasEnded) {
      this.#replace(port);
      port = await this.#connected();
    }
    await this.#guard(port, port.ready());
    return port;
  }

  /** The result of `work` over the port, within the time limit of a call. */
  answer<T>(port: RedisPort, work: Promise<T>): Promise<T> {
    return this.#guard(port, within(this.#options.commandTimeoutMs, work));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const port = await this.#connection.opened();
    for (const [retired, timer] of this.#retired) {
      clearTimeout(timer);
      retired.abandon();
    }
    await port?.close();
    await this.#options.given?.close();
  }

  #connected(): Promise<RedisPort> {
    if (this.#closed) throw new StateError("CLOSED", "the connection was closed");
    return this.#connection.get();
  }

  async #connect(): Promise<RedisPort> {
    const port = await this.#reach();
    this.#current = port;
    this.#last = port;
    return port;
  }

  async #reach(): Promise<RedisPort> {
    if (this.#last !== undefined) return this.#succeed(this.#last);
    try {
      const { port, durability } = await connect(this.#options);
      this.#durability = durability;
      return port;
    } catch (error) {
      // A handed-in client that hangs before it ever answered is left alone too.
      if (isTimeout(error) && this.#options.given !== undefined) this.#last = this.#options.given;
      throw error;
    }
  }

  async #succeed(last: RedisPort): Promise<RedisPort> {
    const port = await last.successor();
    try {
      await port.ready();
      return port;
    } catch (error) {
      port.abandon();
      throw error;
    }
  }

  async #guard<T>(port: RedisPort, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (isTimeout(error)) this.#replace(port);
      throw error;
    }
  }

  /** When many calls find the same port dead, only the first replaces it. */
  #replace(port: RedisPort): void {
    if (this.#current !== port || this.#closed) return;
    this.#current = undefined;
    this.#connection.forget();
    if (!port.isCluster || port.hasEnded) {
      port.abandon();
      return;
    }
    // By then every call over it has been answered or has timed out.
    const timer = setTimeout(() => {
      this.#retired.delete(port);
      port.abandon();
    }, this.#options.commandTimeoutMs);
    this.#retired.set(port, timer.unref());
  }
}

const isTimeout = (error: unknown): boolean =>
  StateError.is(error) ? error.code === "TIMEOUT" : classify(error) === "TIMEOUT";
