import { OpenOnce } from "../../driver/open-once.ts";
import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import { type Connection, type ConnectOptions, connect } from "./connect.ts";
import { type RedisPort, within } from "./port.ts";

/**
 * The connection that calls go over, and the next one when it is of no use any
 * more. A server can fall silent without anybody being told (a cable, a machine,
 * a firewall that forgot), so a call that is not answered in time takes its
 * connection with it: the next call is made over a new one. What was under way
 * on the old one fails as something that may be tried again, which is safe
 * because every append carries its write id.
 */
export class Link {
  readonly #options: ConnectOptions;
  readonly #onContact: (contact: Connection) => void;
  readonly #connection: OpenOnce<RedisPort> = new OpenOnce(() => this.#connect());
  /** The one in use. */
  #current: RedisPort | undefined;
  /** The last one that was in use, which knows how another one is made. */
  #last: RedisPort | undefined;
  /** Cluster clients of which one node fell silent: calls to the others may end. */
  readonly #retired = new Map<RedisPort, NodeJS.Timeout>();
  #closed = false;

  /** `onContact` hears once what the server says of itself. */
  constructor(options: ConnectOptions, onContact: (contact: Connection) => void) {
    this.#options = options;
    this.#onContact = onContact;
  }

  /** One that can be sent to now. */
  async port(): Promise<RedisPort> {
    let port = await this.#connected();
    if (port.hasEnded) {
      this.#replace(port);
      port = await this.#connected();
    }
    await this.#guard(port, port.ready());
    return port;
  }

  /** What `work` over the port ends with, within the time that a call may take. */
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
      const contact = await connect(this.#options);
      this.#onContact(contact);
      return contact.port;
    } catch (error) {
      // A client that was handed in and hangs before it ever answered is left alone, too.
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

  /** Of many calls that found the same port dead, the first one replaces it. */
  #replace(port: RedisPort): void {
    if (this.#current !== port || this.#closed) return;
    this.#current = undefined;
    this.#connection.forget();
    if (!port.isCluster || port.hasEnded) {
      port.abandon();
      return;
    }
    // By then every call over it has been answered, or has waited for as long as a call may.
    const timer = setTimeout(() => {
      this.#retired.delete(port);
      port.abandon();
    }, this.#options.commandTimeoutMs);
    this.#retired.set(port, timer.unref());
  }
}

const isTimeout = (error: unknown): boolean =>
  StateError.is(error) ? error.code === "TIMEOUT" : classify(error) === "TIMEOUT";
