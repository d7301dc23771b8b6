import { checkedPrefix } from "../../checkpoint/bucket-log/layout.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { AUTH_KINDS } from "./auth.ts";
import type { ObjectStorageClientShape, OciConnection } from "./connect.ts";
import { DEFAULT_PREFIX } from "./lifecycle-policy.ts";
import { OciLog, type OciLogOptions } from "./log.ts";

export interface OCIBucketOptions extends CheckpointerOptions, OciConnection {
  readonly bucketName: string;
  /** The tenancy's Object Storage namespace. Looked up on first use if not given. */
  readonly namespace?: string;
  /** The compartment in which a missing bucket is created. Without it, a missing bucket is an error. */
  readonly compartmentId?: string;
  /** The prefix of all object names. @default "holdfast/" */
  readonly prefix?: string;
  /** Your own `ObjectStorageClient`, instead of `region`, `endpoint` and `auth`. It stays yours: `close()` leaves it open. */
  readonly client?: ObjectStorageClientShape;
  /** The time limit of one request, including its answer. @default 30000 */
  readonly requestTimeoutMs?: number;
}

/** Keeps threads in a bucket of OCI Object Storage. Needs `npm install oci-objectstorage oci-common`. */
export class OCIBucketBackend extends Checkpointer {
  readonly #log: OciLog;

  constructor(options: OCIBucketOptions) {
    const log = new OciLog(logOptions(options));
    super(log, options);
    this.#log = log;
  }

  /**
   * Deletes objects that belong to no thread: left by processes that died in the
   * middle of a change, or by a lifecycle rule that expired a thread. Safe at any
   * time; lists the whole prefix.
   */
  async removeLeftovers(): Promise<void> {
    contextOf(this)?.assertMayWrite("removeLeftovers");
    await this.#log.removeLeftovers();
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

/** For a text that is not a URL: it names no bucket. */
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

/** `auth` may be a word or an object. */
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
