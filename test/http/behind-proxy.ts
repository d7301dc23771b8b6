import { connectionOf } from "../../src/backends/http/connect.ts";
import { HttpLog } from "../../src/backends/http/log.ts";
import { behindProxy } from "../network/outage-proxy.ts";
import type { Served } from "./served.ts";

export const logOn = ({ token }: Served, baseUrl: string): HttpLog => new HttpLog(connectionOf({ baseUrl, token }));

/** A service that can be cut off from its clients. */
export async function servedBehindProxy(there: Served): Promise<{
  readonly baseUrl: string;
  readonly outage: () => Promise<() => Promise<void>>;
  readonly cleanup: () => Promise<void>;
}> {
  const { url, outage, cleanup } = await behindProxy(`http://127.0.0.1:${there.service.port}`);
  return { baseUrl: url, outage, cleanup: () => cleanup().then(() => there[Symbol.asyncDispose]()) };
}
