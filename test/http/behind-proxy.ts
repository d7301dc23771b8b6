import { connectionOf } from "../../src/backends/http/connect.ts";
import { HttpLog } from "../../src/backends/http/index.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import type { Served } from "./served.ts";

export const logOn = ({ token }: Served, baseUrl: string): HttpLog => new HttpLog(connectionOf({ baseUrl, token }));

/** A service that can be cut off from its clients. */
export async function behindProxy(there: Served): Promise<{
  readonly baseUrl: string;
  readonly outage: () => Promise<() => Promise<void>>;
  readonly cleanup: () => Promise<void>;
}> {
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  return {
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    outage: async () => {
      proxy.refuse();
      return async () => proxy.restore();
    },
    cleanup: async () => {
      await proxy.close();
      await there[Symbol.asyncDispose]();
    },
  };
}
