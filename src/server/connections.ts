import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * The connections of a server and how many requests each is busy with. Node
 * counts one that was opened and never used as busy, and would wait for it.
 */
export class Connections {
  readonly #busy = new Map<Socket, number>();
  #closing = false;

  constructor(server: Server) {
    server.on("connection", (socket) => {
      this.#busy.set(socket, 0);
      socket.once("close", () => this.#busy.delete(socket));
    });
    server.on("request", ({ socket }, outgoing) => {
      this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
      outgoing.once("close", () => {
        const left = (this.#busy.get(socket) ?? 1) - 1;
        if (!socket.destroyed) this.#busy.set(socket, left);
        if (this.#closing && left === 0) socket.destroySoon();
      });
    });
  }

  /** Ends those that are idle now, and every other as soon as it is. */
  drain(): void {
    this.#closing = true;
    for (const [socket, busy] of this.#busy) if (busy === 0) socket.destroySoon();
  }
}
