import { HTTPStore, type HTTPStoreOptions } from "../../src/backends/http/index.ts";
import { createToken, type RunningService, type ServeOptions, serve } from "../../src/entry/server.ts";
import type { Store } from "../../src/store/store.ts";
import { SCOPES, type Scope } from "../../src/wire/protocol.ts";
import { noticedByClients } from "../network/noticed-by-clients.ts";

/** A service in front of a store, with one token that may do everything; for all items, or for one tenant's. */
export interface ServedStore extends AsyncDisposable {
  readonly service: RunningService;
  /** What the service stands in front of. */
  readonly behind: Store;
  readonly token: string;
  readonly client: (options?: Partial<HTTPStoreOptions>) => HTTPStore;
}

export async function servedStore(
  behind: Store,
  options: Partial<ServeOptions> & { readonly tenant?: string; readonly scopes?: readonly Scope[] } = {},
): Promise<ServedStore> {
  const { tenant, scopes = SCOPES, ...given } = options;
  const { token, sha256 } = createToken();
  const auth = { tokens: [{ sha256, scopes, ...(tenant !== undefined && { tenant }) }] };
  const service = await serve({ store: behind, auth, port: 0, rateLimit: false, ...given });
  return {
    service,
    behind,
    token,
    client: (own = {}) => new HTTPStore({ baseUrl: service.url, token, ...own }),
    [Symbol.asyncDispose]: async () => {
      await service.close();
      await behind.close();
      await noticedByClients();
    },
  };
}
