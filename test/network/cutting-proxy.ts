import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { noticedByClients } from "./noticed-by-clients.ts";

/** Which way the counted bytes go. */
export type Direction = "to server" | "to client";

export const DIRECTIONS: readonly Direction[] = ["to server", "to client"];

export interface Cut {
  readonly direction: Direction;
  /** How many bytes still get through, from the moment of arming; the connection that carries the next one is cut. */
  readonly bytes: number;
}

export interface ArmedCut {
  /** Whether it has happened. An operation that ends without it used fewer bytes. */
  readonly fired: boolean;
  readonly disarm: () => void;
}

export interface CuttingProxy {
  readonly host: "127.0.0.1";
  readonly port: number;
  /** Bytes forwarded so far, over all connections. */
  readonly forwarded: Readonly<Record<Direction, number>>;
  /** Connections that clients have made so far. */
  readonly connections: number;
  /** One cut at a time: arming another replaces it. It fires once. */
  cutAfter(cut: Cut): ArmedCut;
  /**
   * From now on nothing gets through in that direction, and neither side is told: a cable that was
   * pulled.
   */
  swallow(direction: Direction): void;
  /**
   * Present connections carry nothing more in that direction, and neither side is told; new ones work: a firewall that
   * forgot them.
   */
  silence(...directions: readonly Direction[]): void;
  /** From now on, every connection is cut, and so is every new one: a server that is down. */
  refuse(): void;
  /** Connections of before stay dead; new ones work. */
  restore(): void;
  /** Cuts every connection; new ones lead to that port. */
  leadTo(port: number): void;
  /** Cuts every connection that is open. */
  cutAll(): void;
  close(): Promise<void>;
}

/**
 * A TCP proxy that breaks connections on purpose, whatever is spoken through it.
 * A cut resets both sides, as when a machine on the way goes down: what was
 * forwarded before has arrived, nothing of what comes after does.
 */
export async function startCuttingProxy(target: {
  readonly targetPort: number;
  readonly targetHost?: string;
}): Promise<CuttingProxy> {
  const { targetHost = "127.0.0.1" } = target;
  let { targetPort } = target;
  const pairs = new Set<readonly [client: Socket, server: Socket]>();
  const forwarded: Record<Direction, number> = { "to server": 0, "to client": 0 };
  const swallowed = new Set<Direction>();
  const silenced = new Map<readonly [client: Socket, server: Socket], ReadonlySet<Direction>>();
  let armed: { direction: Direction; left: number; fired: boolean } | undefined;
  let connections = 0;
  let refusing = false;

  const cut = (pair: readonly [Socket, Socket]): void => {
    pairs.delete(pair);
    silenced.delete(pair);
    for (const socket of pair) {
      socket.removeAllListeners("data");
      socket.resetAndDestroy();
    }
  };

  const forward = (pair: readonly [Socket, Socket], direction: Direction, chunk: Buffer): void => {
    if (swallowed.has(direction) || silenced.get(pair)?.has(direction)) return;
    const to = pair[direction === "to server" ? 1 : 0];
    const active = armed?.direction === direction && !armed.fired ? armed : undefined;
    if (active === undefined || chunk.length <= active.left) {
      if (active !== undefined) active.left -= chunk.length;
      forwarded[direction] += chunk.length;
      to.write(chunk);
      return;
    }
    const last = chunk.subarray(0, active.left);
    active.fired = true;
    forwarded[direction] += last.length;
    pairs.delete(pair);
    for (const socket of pair) socket.removeAllListeners("data");
    // The last bytes must have left before the reset, which would throw them away.
    if (last.length === 0) cut(pair);
    else to.write(last, () => setImmediate(() => cut(pair)));
  };

  const server = createServer({ noDelay: true }, (client) => {
    connections++;
    if (refusing) return void client.resetAndDestroy();
    const upstream = connect({ host: targetHost, port: targetPort, noDelay: true });
    const pair = [client, upstream] as const;
    pairs.add(pair);
    client.on("data", (chunk: Buffer) => forward(pair, "to server", chunk));
    upstream.on("data", (chunk: Buffer) => forward(pair, "to client", chunk));
    for (const [one, other] of [pair, [upstream, client] as const]) {
      one.on("error", () => other.destroy());
      one.on("end", () => other.end());
      one.on("close", () => {
        pairs.delete(pair);
        silenced.delete(pair);
        other.destroySoon();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    forwarded,
    get connections() {
      return connections;
    },
    cutAfter: ({ direction, bytes }) => {
      const own = { direction, left: bytes, fired: false };
      armed = own;
      return {
        get fired() {
          return own.fired;
        },
        disarm: () => {
          if (armed === own) armed = undefined;
        },
      };
    },
    swallow: (direction) => void swallowed.add(direction),
    silence: (...directions) => {
      swallowed.clear();
      for (const pair of pairs) silenced.set(pair, new Set(directions));
    },
    refuse: () => {
      refusing = true;
      for (const pair of [...pairs]) cut(pair);
    },
    restore: () => {
      refusing = false;
      swallowed.clear();
      armed = undefined;
      for (const pair of [...pairs]) cut(pair);
    },
    leadTo: (port) => {
      targetPort = port;
      for (const pair of [...pairs]) cut(pair);
    },
    cutAll: () => {
      for (const pair of [...pairs]) cut(pair);
    },
    close: async () => {
      for (const pair of [...pairs]) cut(pair);
      const closed = once(server, "close");
      server.close();
      await closed;
      await noticedByClients();
    },
  };
}
