import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between a client and its server, so that a test can take the server away from the one client. */
export interface TcpProxy {
  /** The server's URL, with the proxy's address in it. */
  readonly url: string;
  /** Cuts every connection and refuses new ones, until the returned function is called. */
  outage(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

export async function startProxy(serverUrl: string): Promise<TcpProxy> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isOut = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const proxy = createServer((client) => {
    keep(client);
    if (isOut) return client.destroy();
    const server = keep(connect(Number(target.port), target.hostname));
    client.pipe(server).pipe(client);
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    return undefined;
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String((proxy.address() as AddressInfo).port);
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    outage: async () => {
      isOut = true;
      cut();
      return async () => {
        isOut = false;
      };
    },
    stop: async () => {
      cut();
      proxy.close();
      await once(proxy, "close");
    },
  };
}
