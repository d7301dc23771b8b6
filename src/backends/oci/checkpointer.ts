import { bucketFacts } from "../../checkpoint/bucket-log/facts.ts";
import { checkedPrefix } from "../../checkpoint/bucket-log/layout.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/deferred-log.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { AUTH_KINDS } from "./auth.ts";
import type { ObjectStorageClientShape, OciConnection } from "./connect.ts";
import { DURABILITY } from "./durability.ts";
import { DEFAULT_PREFIX } from "./lifecycle-policy.ts";
import type { OciLog, OciLogOptions } from "./log.ts";

export interface OCIBucketOptions extends CheckpointerOptions, OciConnection {
  readonly bucketName: string;
  /** The tenancy's Object Storage namespace. Asked for at first use where it is not given. */
  readonly namespace?: string;
  /** Where the bucket is made if it is not there. Without it, a missing bucket is an error. */
  readonly compartmentId?: string;
  /** What the names of all objects begin with. @default "holdfast/" */
  readonly prefix?: string;
  /** An `ObjectStorageClient` of your own, instead of `region`, `endpoint` and `auth`. It stays yours: `close()` leaves it open. */
  readonly client?: ObjectStorageClientShape;
  /** How long one request may take, its answer included. @default 30000 */
  readonly requestTimeoutMs?: number;
}

/** Keeps threads in a bucket of OCI Object Storage. `npm install oci-objectstorage oci-common` */
export class OCIBucketBackend extends Checkpointer {
  readonly #log: DeferredLog<OciLog>;

  constructor(options: OCIBucketOptions) {
    const checked = logOptions(options);
    const log = new DeferredLog(
      bucketFacts("oci", DURABILITY),
      async () => new (await import("./log.ts")).OciLog(checked),
    );
    super(log, options);
    this.#log = log;
  }

  /**
   * Deletes objects that belong to no thread: what processes left that died in
   * the middle of a change, and what a lifecycle rule left of threads it ended.
   * Safe at any time; lists the whole prefix.
   */
  async removeLeftovers(): Promise<void> {
    contextOf(this)?.assertMayWrite("removeLeftovers");
    await (await this.#log.driver()).removeLeftovers();
  }
}

export const ociBucketCheckpointer = (options: OCIBucketOptions): OCIBucketBackend => new OCIBucketBackend(options);

/** `oci://bucket/prefix?namespace=…&region=…`; `auth`, `profile`, `configFile`, `compartmentId` and `endpoint` may follow. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  const { host, pathname, searchParams } = URL.canParse(url) ? new URL(url) : NO_URL;
  const parameters = Object.fromEntries(searchParams);
  assertParameters(url, parameters, [
    "namespace",
    "region",
    "compartmentId",
    "auth",
    "profile",
    "configFile",
    "endpoint",
  ]);
  if (host === "") throw new StateError("INVALID_ARGUMENT", "an oci URL needs a bucket: oci://my-bucket/prod");
  const prefix = decodeURIComponent(pathname).replace(/^\//, "");
  const { auth, ...rest } = parameters;
  const place = { bucketName: decodeURIComponent(host), ...(prefix !== "" && { prefix }) };
  return new OCIBucketBackend({ ...options, ...rest, ...place, ...(auth !== undefined && { auth: authKind(auth) }) });
}

/** For a text that is no URL: it names no bucket. */
const NO_URL = { host: "", pathname: "", searchParams: new URLSearchParams() };

function logOptions(options: OCIBucketOptions): OciLogOptions {
  assertOptions("OCIBucketBackend", withoutAuth(options), {
    bucketName: "string",
    namespace: "string",
    compartmentId: "string",
    prefix: "string",
    region: "string",
    endpoint: "string",
    configFile: "string",
    profile: "string",
    client: "object",
    requestTimeoutMs: "number",
  });
  const { bucketName, namespace, compartmentId, client, prefix = DEFAULT_PREFIX, requestTimeoutMs = 30_000 } = options;
  const { access = "write" } = options;
  if (typeof bucketName !== "string" || bucketName === "") {
    throw new StateError("INVALID_ARGUMENT", 'the option "bucketName" must be the name of a bucket');
  }
  if (typeof options.auth === "string") authKind(options.auth);
  return {
    bucketName,
    namespace,
    compartmentId,
    access,
    prefix: checkedPrefix(prefix),
    client,
    requestTimeoutMs,
    connection: options,
  };
}

/** It may be a word or an object. */
function withoutAuth(options: OCIBucketOptions): object {
  if (typeof options !== "object" || options === null) return options;
  const { auth: _, ...rest } = options;
  return rest;
}

function authKind(auth: string): (typeof AUTH_KINDS)[number] {
  const kind = AUTH_KINDS.find((known) => known === auth);
  if (kind !== undefined) return kind;
  throw new StateError("INVALID_ARGUMENT", `auth must be one of ${AUTH_KINDS.join(", ")}, or a provider of the SDK`);
}
