import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Refusal } from "./refusal.ts";

interface Usage {
  /** Requests that are under way. */
  busy: number;
  /** Whose request came last; `undefined` before the first that was let in. */
  tenant: string | undefined;
}

/**
 * The connections of a server: how many requests each is busy with, and whose
 * it is. Node counts one that was opened and never used as busy, and would wait
 * for it. Where there is no room left, the one that was idle longest goes; and
 * one tenant cannot have them all.
 */
export class Connections {
  /** In the order in which they were used last. */
  readonly #used = new Map<Socket, Usage>();
  readonly #perTenant = new Map<string, number>();
  readonly #most: number;
  readonly #mostPerTenant: number;
  #closing = false;

  constructor(server: Server, { most, mostPerTenant }: { readonly most: number; readonly mostPerTenant: number }) {
    this.#most = most;
    this.#mostPerTenant = mostPerTenant;
    server.on("connection", (socket) => this.#opened(socket));
    server.on("request", ({ socket }, outgoing) => {
      this.#change(socket, 1);
      outgoing.once("close", () => this.#change(socket, -1));
    });
  }

  /** Counts a connection as this tenant's. Refuses where that makes too many, unless an idle one of its own can go. */
  claim(socket: Socket, tenant: string | undefined): void {
    const usage = this.#used.get(socket);
    if (usage === undefined || tenant === undefined) return;
    this.#assign(usage, tenant);
    const isFull = (this.#perTenant.get(tenant) ?? 0) > this.#mostPerTenant;
    if (!isFull || this.#endIdle((other) => other.tenant === tenant)) return;
    throw new Refusal("RATE_LIMITED", `more than ${this.#mostPerTenant} connections of this tenant are busy`, {
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
    this.#used.set(socket, { busy: 0, tenant: undefined });
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
    if (usage !== undefined) this.#assign(usage, undefined);
    this.#used.delete(socket);
  }

  #assign(usage: Usage, tenant: string | undefined): void {
    if (usage.tenant !== undefined) this.#perTenant.set(usage.tenant, (this.#perTenant.get(usage.tenant) ?? 1) - 1);
    if (tenant !== undefined) this.#perTenant.set(tenant, (this.#perTenant.get(tenant) ?? 0) + 1);
    usage.tenant = tenant;
  }
}
