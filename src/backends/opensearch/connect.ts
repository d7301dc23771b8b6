import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";

/** The part of a `Client` of `@opensearch-project/opensearch` that is used here. */
export interface OpenSearchClient {
  readonly transport: {
    request(request: OpenSearchRequest, options: object): PromiseLike<{ readonly body: unknown }>;
  };
  close(): Promise<unknown>;
}

/** The client adds to it what it makes of it, so each is used once. */
export interface OpenSearchRequest {
  method: string;
  path: string;
  querystring?: Record<string, string>;
  /** Serialised: the client sends a text as it is. */
  body?: string;
  bulkBody?: string;
}

export type OpenSearchAuth =
  | { readonly username: string; readonly password: string }
  /** Sent as `Authorization: Bearer …`. */
  | { readonly token: string };

/** As `tls.connect()` takes them: a CA of your own, a client certificate. */
export type OpenSearchTls = Readonly<Record<string, unknown>>;

export interface OpenSearchPlace {
  /** `https://host:9200`, without credentials. */
  readonly nodes: readonly string[];
  readonly auth: OpenSearchAuth | undefined;
  readonly tls: OpenSearchTls | undefined;
  readonly requestTimeoutMs: number;
}

interface ClientModule {
  readonly Client: new (options: object) => OpenSearchClient;
}

export async function openClient({ nodes, auth, tls, requestTimeoutMs }: OpenSearchPlace): Promise<OpenSearchClient> {
  // A variable, so that a type check does not need a package that not every user has.
  const name = "@opensearch-project/opensearch";
  const { Client } = await importPeer(name, "^3", () => import(name) as Promise<ClientModule>);
  return new Client({
    nodes: [...nodes],
    ...(auth !== undefined && "username" in auth && { auth }),
    ...(auth !== undefined && "token" in auth && { headers: { authorization: `Bearer ${auth.token}` } }),
    ...(tls !== undefined && { ssl: tls }),
    requestTimeout: requestTimeoutMs,
    maxRetries: 0,
    // A node that failed is tried again when its time has come, without asking it for its health first.
    resurrectStrategy: "optimistic",
  });
}

/** Texts that no error may show. */
export function secretsOf(auth: OpenSearchAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  if ("token" in auth) return [auth.token];
  const { username, password } = auth;
  const basic = Buffer.from(`${username}:${password}`).toString("base64");
  return [...new Set([password, encodeURIComponent(password), basic])].filter((secret) => secret !== "");
}

/** A host as it was given: its address, and the credentials that were in it. */
export function parseHost(host: string): { readonly node: string; readonly auth: OpenSearchAuth | undefined } {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(host) ? host : `https://${host}`;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    // The text itself is not repeated: what is not understood may hold a password anywhere.
    throw new StateError("INVALID_ARGUMENT", "a host must look like https://localhost:9200");
  }
  const url = new URL(address);
  const [username, password] = [url.username, url.password].map(decodeURIComponent) as [string, string];
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  return { node: url.href.replace(/\/$/, ""), auth: username === "" ? undefined : { username, password } };
}
