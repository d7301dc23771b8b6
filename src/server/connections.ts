import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Refusal } from "./request/refusal.ts";

interface Usage {
  /** Requests that are under way. */
  busy: number;
  /** Whose request came last; `undefined` before the first that was let in. */
  owner: string | undefined;
  /** Requests in a row that were not let in. */
  strange: number;
  /** It was told that it has too many requests, and nothing that it sends is looked at any more. */
  isEnding: boolean;
  /** What is to be done for the requests that are under way when the connection is gone. */
  readonly onGone: Set<() => void>;
}

/** More requests than a client has under way on one connection, or sends in a row without a token that is known. */
const MOST_AT_ONCE = 100;
const MOST_STRANGE = 100;

/**
 * The connections of a server: how many requests each is busy with, and whose
 * it is. Node counts one that was opened and never used as busy, and would wait
 * for it. Where there is no room left, the one that was idle longest goes; and
 * one owner, a tenant or a token, cannot have them all.
 */
export class Connections {
  /** In the order in which they were used last. */
  readonly #used = new Map<Socket, Usage>();
  readonly #perOwner = new Map<string, number>();
  readonly #most: number;
  readonly #mostPerOwner: number;
  #closing = false;

  constructor(server: Server, { most, mostPerOwner }: { readonly most: number; readonly mostPerOwner: number }) {
    this.#most = most;
    this.#mostPerOwner = mostPerOwner;
    server.on("connection", (socket) => this.#opened(socket));
  }

  /**
   * Counts a request before anything else is done with it. One too many is refused and ends its connection; what comes
   * behind it, as in a pipeline of thousands, is not even answered. `onGone` is called when the request is over.
   */
  enter(socket: Socket, outgoing: ServerResponse, onGone: () => void): Refusal | "ignored" | undefined {
    const usage = this.#used.get(socket);
    if (usage?.isEnding) return "ignored";
    this.#change(socket, 1);
    usage?.onGone.add(onGone);
    outgoing.once("close", () => {
      usage?.onGone.delete(onGone);
      onGone();
      this.#change(socket, -1);
    });
    if (usage === undefined || (++usage.strange <= MOST_STRANGE && usage.busy <= MOST_AT_ONCE)) return undefined;
    usage.isEnding = true;
    socket.pause();
    const message = `more than ${MOST_AT_ONCE} requests at once, or ${MOST_STRANGE} without a known token, on one connection`;
    return new Refusal("RATE_LIMITED", message, { headers: { "retry-after": "1", connection: "close" } });
  }

  /** Counts a connection as this owner's. Refuses where that makes too many, unless an idle one of its own can go. */
  claim(socket: Socket, owner: string): void {
    const usage = this.#used.get(socket);
    if (usage === undefined) return;
    usage.strange = 0;
    this.#assign(usage, owner);
    const isFull = (this.#perOwner.get(owner) ?? 0) > this.#mostPerOwner;
    if (!isFull || this.#endIdle((other) => other.owner === owner)) return;
    throw new Refusal("RATE_LIMITED", `more than ${this.#mostPerOwner} connections of this client are busy`, {
      headers: { "retry-after": "1", connection: "close" },
    });
  }

  /** Ends those that are idle now, and every other as soon as it is. */
  drain(): void {
    this.#closing = true;
    while (this.#endIdle(() => true));
  }

  #opened(socket: Socket): void {
    socket.once("close", () => this.#forget(socket));
    if (this.#used.size >= this.#most && !this.#endIdle(() => true)) {
      socket.destroy();
      return;
    }
    this.#used.set(socket, { busy: 0, owner: undefined, strange: 0, isEnding: false, onGone: new Set() });
  }

  #change(socket: Socket, by: 1 | -1): void {
    const usage = this.#used.get(socket);
    if (usage === undefined) return;
    usage.busy += by;
    this.#used.delete(socket);
    this.#used.set(socket, usage);
    if (this.#closing && usage.busy === 0) socket.destroySoon();
  }

  /** Ends the connection that was idle longest of those that `isMeant`; false when there is no such. */
  #endIdle(isMeant: (usage: Usage) => boolean): boolean {
    for (const [socket, usage] of this.#used) {
      if (usage.busy > 0 || !isMeant(usage)) continue;
      this.#forget(socket);
      socket.destroySoon();
      return true;
    }
    return false;
  }

  #forget(socket: Socket): void {
    const usage = this.#used.get(socket);
    if (usage === undefined) return;
    this.#assign(usage, undefined);
    this.#used.delete(socket);
    // Node reports the end of the answer that was being sent, but not of those queued
    // behind it.
    for (const gone of usage.onGone) gone();
    usage.onGone.clear();
  }

  #assign(usage: Usage, owner: string | undefined): void {
    if (usage.owner === owner) return;
    if (usage.owner !== undefined) this.#count(usage.owner, -1);
    if (owner !== undefined) this.#count(owner, 1);
    usage.owner = owner;
  }

  #count(owner: string, by: 1 | -1): void {
    const count = (this.#perOwner.get(owner) ?? 0) + by;
    if (count === 0) this.#perOwner.delete(owner);
    else this.#perOwner.set(owner, count);
  }
}
