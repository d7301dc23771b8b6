import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertAddress, assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { connectionOf, connectionOptions, OpensearchConnection, type OpensearchConnectionOptions } from "./connect.ts";
import { OpenSearchLog, type OpenSearchLogOptions } from "./log.ts";

export interface OpensearchCheckpointerOptions extends CheckpointerOptions, OpensearchConnectionOptions {
  /** The result of `opensearchConnection()`, instead of `hosts` or a `client`. It may be shared. */
  readonly connection?: OpensearchConnection;
  /** An index or an alias. If it does not exist, the index `<indexName>-1` is created with this alias. @default "holdfast" */
  readonly indexName?: string;
  /**
   * Several programs may share an index, which is easier on a cluster than many
   * small ones: each sees its own threads. @default ""
   */
  readonly namespace?: string;
  /** Whether the index may be created. False if a deployment creates it. @default true */
  readonly createIndex?: boolean;
  /** For an index that is created. @default 1 */
  readonly shards?: number;
  /** For an index that is created. @default 1 */
  readonly replicas?: number;
  /**
   * How many copies of a shard must be active before a write: 2 or more, or "all",
   * makes it `replicated`. @default the index's setting
   */
  readonly waitForActiveShards?: number | "all";
}

/** Keeps threads in OpenSearch 2.7 or later. Needs `npm install @opensearch-project/opensearch`. */
export function opensearchCheckpointer(options: OpensearchCheckpointerOptions = {}): Checkpointer {
  assertOptions("opensearchCheckpointer", options, {
    ...connectionOptions(options),
    connection: "object",
    indexName: "string",
    namespace: "string",
    createIndex: "boolean",
    shards: "number",
    replicas: "number",
    waitForActiveShards: options?.waitForActiveShards === "all" ? "string" : "number",
  });
  const checked = opensearchLogOptions(options);
  return new Checkpointer(new OpenSearchLog(checked), { ...options, access: checked.connection.access });
}

const TAKER = { factory: "opensearchCheckpointer", opener: "opensearchConnection" };

/** All options of a log, with the defaults filled in. */
export function opensearchLogOptions(given: OpensearchCheckpointerOptions): OpenSearchLogOptions {
  const { indexName = "holdfast", createIndex = true, shards = 1, replicas = 1 } = given;
  const { namespace = "", waitForActiveShards } = given;
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
    ["waitForActiveShards", waitForActiveShards === "all" ? 1 : (waitForActiveShards ?? 1), 1],
  ] as const) {
    if (!Number.isInteger(value) || value < least) throw invalid(`${name} must be a whole number from ${least} on`);
  }
  const own = (options: OpensearchConnectionOptions): OpensearchConnection => connectionOf(TAKER.factory, options);
  return {
    connection: connectionFor(TAKER, given, OpensearchConnection, connectionOptions(given), own),
    index: indexName,
    namespace,
    createIndex,
    shards,
    replicas,
    waitForActiveShards: waitForActiveShards === undefined ? undefined : String(waitForActiveShards),
  };
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
