import { startCuttingProxy } from "./cutting-proxy.ts";

/** A server that can be taken away from the clients behind the proxy, and from no others. */
export interface ProxiedServer {
  /** The server's URL, with the proxy's address in it. */
  readonly url: string;
  /** Cuts every connection and refuses new ones, until the returned function is called. */
  readonly outage: () => Promise<() => Promise<void>>;
  readonly cleanup: () => Promise<void>;
}

export async function behindProxy(serverUrl: string): Promise<ProxiedServer> {
  const url = new URL(serverUrl);
  const proxy = await startCuttingProxy({ targetPort: Number(url.port), targetHost: url.hostname });
  url.hostname = proxy.host;
  url.port = String(proxy.port);
  return {
    url: url.href,
    outage: async () => {
      proxy.refuse();
      return async () => proxy.restore();
    },
    cleanup: proxy.close,
  };
}
