import { HTTPCheckpointer } from "../../src/backends/http/index.ts";
import type { WiredStorage } from "../network/wire-cuts.ts";
import type { Served } from "./served.ts";

/** The service behind a wire. With `freshConnections`, every request has one of its own. */
export const wiredService = (
  { service, token }: Served,
  { freshConnections = false }: { readonly freshConnections?: boolean } = {},
): WiredStorage => ({
  targetPort: service.port,
  open: async (port, options) =>
    new HTTPCheckpointer({
      ...options,
      baseUrl: `http://127.0.0.1:${port}`,
      token,
      timeoutMs: 30_000,
      ...(freshConnections && { headers: { connection: "close" } }),
    }),
});
