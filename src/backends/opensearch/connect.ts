import { type Access, assertAccess } from "../../driver/access.ts";
import { SharedConnection } from "../../driver/connection.ts";
import { assertOptions, type OptionKinds } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";

/** The part of a `Client` of `@opensearch-project/opensearch` that is used here. */
export interface OpenSearchClient {
  readonly transport: {
    request(request: OpenSearchRequest, options: object): PromiseLike<{ readonly body: unknown }>;
  };
  close(): Promise<unknown>;
}

/** The client adds properties to it, so each is used once. */
export interface OpenSearchRequest {
  method: string;
  path: string;
  querystring?: Record<string, string>;
  /** Serialised: the client sends a string unchanged. */
  body?: string;
  bulkBody?: string;
}

export type OpenSearchAuth =
  | { readonly username: string; readonly password: string }
  /** Sent as `Authorization: Bearer …`. */
  | { readonly token: string };

/** As `tls.connect()` takes them: a CA of your own, a client certificate. */
export type OpenSearchTls = Readonly<Record<string, unknown>>;

export interface OpensearchConnectionOptions {
  /** `https://host:9200`, one or several nodes of one cluster. Without a scheme, https. @default "https://localhost:9200" */
  readonly hosts?: string | readonly string[];
  /** Your own `Client` of `@opensearch-project/opensearch` instead. It stays yours: `close()` leaves it open. */
  readonly client?: OpenSearchClient;
  /** A user name and password, or a token. */
  readonly auth?: OpenSearchAuth;
  /** As `tls.connect()` takes them, for a CA of your own or a client certificate. */
  readonly tls?: OpenSearchTls;
  /** How long to wait for an answer. @default 30000 */
  readonly requestTimeoutMs?: number;
  /**
   * `"read"` neither creates nor refreshes an index: listings, queries and searches
   * show what the server has refreshed by itself, by default once a second. @default
   * "write"
   */
  readonly access?: Access;
}

/** The options of a connection, each with its kind. */
export const connectionOptions = (given: OpensearchConnectionOptions | undefined): OptionKinds => ({
  hosts: typeof given?.hosts === "string" ? "string" : "object",
  client: "object",
  auth: "object",
  tls: "object",
  requestTimeoutMs: "number",
  access: "string",
});

interface OpenSearchPlace {
  /** `https://host:9200`, without credentials. */
  readonly nodes: readonly string[];
  readonly auth: OpenSearchAuth | undefined;
  readonly tls: OpenSearchTls | undefined;
  readonly requestTimeoutMs: number;
}

/** One client for everything that is kept in one cluster. Opened on first use; closed when its last holder closes. */
export class OpensearchConnection extends SharedConnection<OpenSearchClient> {
  readonly requestTimeoutMs: number;
  readonly access: Access;
  /** Private, so that printing the connection does not show it. */
  readonly #auth: OpenSearchAuth | undefined;

  constructor(
    source: OpenSearchPlace | { readonly client: OpenSearchClient },
    { requestTimeoutMs, access }: { readonly requestTimeoutMs: number; readonly access: Access },
  ) {
    super(
      "client" in source
        ? { open: async () => source.client, close: async () => undefined }
        : { open: () => openClient(source), close: async (client) => void (await client.close()) },
    );
    this.requestTimeoutMs = requestTimeoutMs;
    this.access = access;
    this.#auth = "client" in source ? undefined : source.auth;
  }

  /** Texts that must appear in no error. */
  get secrets(): readonly string[] {
    return secretsOf(this.#auth);
  }
}

/**
 * A client that several facets share, such as `opensearchCheckpointer({ connection
 * })`. Each facet is closed separately, and the last one to close also closes the
 * client.
 */
export function opensearchConnection(options: OpensearchConnectionOptions = {}): OpensearchConnection {
  assertOptions("opensearchConnection", options, connectionOptions(options), {});
  return connectionOf("opensearchConnection", options);
}

/** `taker` names the function that was given the options. */
export function connectionOf(taker: string, given: OpensearchConnectionOptions): OpensearchConnection {
  const { hosts, client, auth, tls, requestTimeoutMs = 30_000, access = "write" } = given;
  assertAccess(access);
  const invalid = (fault: string): StateError => new StateError("INVALID_ARGUMENT", `${taker}(): ${fault}`);
  if (!Number.isInteger(requestTimeoutMs) || requestTimeoutMs < 1) {
    throw invalid("requestTimeoutMs must be a whole number from 1 on");
  }
  if (client !== undefined) {
    if (hosts !== undefined || auth !== undefined || tls !== undefined) {
      throw invalid("takes hosts or a client, not both; a client has its own auth and tls");
    }
    return new OpensearchConnection({ client }, { requestTimeoutMs, access });
  }
  const parsed = [hosts ?? "https://localhost:9200"].flat().map(parseHost);
  if (parsed.length === 0) throw invalid("hosts must name at least one");
  const named = auth ?? parsed.find((host) => host.auth !== undefined)?.auth;
  const nodes = parsed.map(({ node }) => node);
  return new OpensearchConnection({ nodes, auth: named, tls, requestTimeoutMs }, { requestTimeoutMs, access });
}

interface ClientModule {
  readonly Client: new (options: object) => OpenSearchClient;
}

async function openClient({ nodes, auth, tls, requestTimeoutMs }: OpenSearchPlace): Promise<OpenSearchClient> {
  const { Client } = await importPeer<ClientModule>("@opensearch-project/opensearch", "^3");
  return new Client({
    nodes: [...nodes],
    ...(auth !== undefined && "username" in auth && { auth }),
    ...(auth !== undefined && "token" in auth && { headers: { authorization: `Bearer ${auth.token}` } }),
    ...(tls !== undefined && { ssl: tls }),
    requestTimeout: requestTimeoutMs,
    maxRetries: 0,
    // A failed node is retried after a while, without a health check first.
    resurrectStrategy: "optimistic",
  });
}

function secretsOf(auth: OpenSearchAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  if ("token" in auth) return [auth.token];
  const { username, password } = auth;
  const basic = Buffer.from(`${username}:${password}`).toString("base64");
  return [...new Set([password, encodeURIComponent(password), basic])].filter((secret) => secret !== "");
}

/** The address of a host as it was given, and the credentials in it. */
function parseHost(host: string): { readonly node: string; readonly auth: OpenSearchAuth | undefined } {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(host) ? host : `https://${host}`;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    // The text is not repeated in the error: a malformed host may hold a password anywhere.
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
