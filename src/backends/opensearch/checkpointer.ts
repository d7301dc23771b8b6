import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/deferred-log.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertAddress, assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { type OpenSearchAuth, type OpenSearchClient, type OpenSearchTls, parseHost } from "./connect.ts";
import { FACTS } from "./facts.ts";
import type { OpenSearchLogOptions } from "./log.ts";

export interface OpensearchCheckpointerOptions extends CheckpointerOptions {
  /** `https://host:9200`, one or several nodes of one cluster. Without a scheme, https. @default "https://localhost:9200" */
  readonly hosts?: string | readonly string[];
  /** A `Client` of `@opensearch-project/opensearch` of your own instead. It stays yours: `close()` leaves it open. */
  readonly client?: OpenSearchClient;
  /** A user's name and password, or a token. */
  readonly auth?: OpenSearchAuth;
  /** As `tls.connect()` takes them, for a CA of your own or a client certificate. */
  readonly tls?: OpenSearchTls;
  /** An index or an alias. Where there is none, the index `<indexName>-1` is made, with this alias. @default "holdfast" */
  readonly indexName?: string;
  /** Several programs may share an index, which is kinder to a cluster than many small ones: each sees its own threads. @default "" */
  readonly namespace?: string;
  /** Whether the index may be made. False for a deployment that makes it itself. @default true */
  readonly createIndex?: boolean;
  /** For an index that is made. @default 1 */
  readonly shards?: number;
  /** For an index that is made. @default 1 */
  readonly replicas?: number;
  /** How many copies of a shard must be up before a write: 2 or more, or "all", makes it `replicated`. @default as the index says */
  readonly waitForActiveShards?: number | "all";
  /** How long to wait for an answer. @default 30000 */
  readonly requestTimeoutMs?: number;
}

/** Keeps threads in OpenSearch 2.7 or later. `npm install @opensearch-project/opensearch`. */
export function opensearchCheckpointer(options: OpensearchCheckpointerOptions = {}): Checkpointer {
  assertOptions("opensearchCheckpointer", options, {
    hosts: typeof options?.hosts === "string" ? "string" : "object",
    client: "object",
    auth: "object",
    tls: "object",
    indexName: "string",
    namespace: "string",
    createIndex: "boolean",
    shards: "number",
    replicas: "number",
    waitForActiveShards: options?.waitForActiveShards === "all" ? "string" : "number",
    requestTimeoutMs: "number",
  });
  const checked = opensearchLogOptions(options);
  const load = async () => new (await import("./log.ts")).OpenSearchLog(checked);
  return new Checkpointer(new DeferredLog(FACTS, load), options);
}

/** Everything a log needs, with the defaults filled in. */
export function opensearchLogOptions(given: OpensearchCheckpointerOptions): OpenSearchLogOptions {
  const { indexName = "holdfast", createIndex = true, shards = 1, replicas = 1 } = given;
  const { namespace = "", waitForActiveShards, requestTimeoutMs = 30_000 } = given;
  if (namespace.includes("\0")) throw invalid("namespace must not hold U+0000");
  if (Buffer.byteLength(namespace) > 512) throw invalid("namespace must have at most 512 bytes");
  if (!/^[a-z0-9][a-z0-9._-]{0,199}$/.test(indexName)) {
    throw invalid(
      "indexName must be lower case letters, digits, dots, dashes and underscores, a letter or digit first",
    );
  }
  for (const [name, value, least] of [
    ["shards", shards, 1],
    ["replicas", replicas, 0],
    ["requestTimeoutMs", requestTimeoutMs, 1],
    ["waitForActiveShards", waitForActiveShards === "all" ? 1 : (waitForActiveShards ?? 1), 1],
  ] as const) {
    if (!Number.isInteger(value) || value < least) throw invalid(`${name} must be a whole number from ${least} on`);
  }
  return {
    source: sourceOf(given, requestTimeoutMs),
    index: indexName,
    namespace,
    createIndex,
    shards,
    replicas,
    waitForActiveShards: waitForActiveShards === undefined ? undefined : String(waitForActiveShards),
    requestTimeoutMs,
  };
}

function sourceOf(given: OpensearchCheckpointerOptions, requestTimeoutMs: number): OpenSearchLogOptions["source"] {
  const { hosts, client, auth, tls } = given;
  if (client !== undefined) {
    if (hosts !== undefined || auth !== undefined || tls !== undefined) {
      throw invalid("takes hosts or a client, not both; a client has its own auth and tls");
    }
    return { client };
  }
  const parsed = [hosts ?? "https://localhost:9200"].flat().map(parseHost);
  if (parsed.length === 0) throw invalid("hosts must name at least one");
  const named = auth ?? parsed.find((host) => host.auth !== undefined)?.auth;
  return { nodes: parsed.map(({ node }) => node), auth: named, tls, requestTimeoutMs };
}

const invalid = (fault: string): StateError => new StateError("INVALID_ARGUMENT", `opensearchCheckpointer(): ${fault}`);

const PARAMETERS = ["namespace", "shards", "replicas", "waitForActiveShards", "createIndex"];

/** `opensearch://user:password@host:9200/index`, which is https; `opensearch+http://host:9200` without TLS. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  return opensearchCheckpointer({ ...options, ...optionsOfUrl(url) });
}

export function optionsOfUrl(url: string): OpensearchCheckpointerOptions {
  assertAddress(url);
  const address = url.replace(/^opensearch(?:\+https)?:/i, "https:").replace(/^opensearch\+http:/i, "http:");
  if (!URL.canParse(address)) throw invalid("the URL must look like opensearch://user:password@host:9200/index");
  const place = new URL(address);
  const parameters = Object.fromEntries(place.searchParams);
  assertParameters(url, parameters, PARAMETERS);
  const { namespace, shards, replicas, waitForActiveShards: waitFor, createIndex } = parameters;
  const indexName = decodeURIComponent(place.pathname.slice(1));
  place.pathname = "";
  place.search = "";
  return {
    hosts: place.href,
    ...(indexName !== "" && { indexName }),
    ...(namespace !== undefined && { namespace }),
    ...(shards !== undefined && { shards: Number(shards) }),
    ...(replicas !== undefined && { replicas: Number(replicas) }),
    ...(waitFor !== undefined && { waitForActiveShards: waitFor === "all" ? waitFor : Number(waitFor) }),
    ...(createIndex !== undefined && { createIndex: createIndex !== "false" }),
  };
}
