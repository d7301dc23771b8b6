import { checkedPrefix } from "../../checkpoint/bucket-log/layout.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../../checkpoint/context.ts";
import { assertDurability, type Durability } from "../../driver/durability.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import type { S3ClientShape, S3Connection } from "./connect.ts";
import { S3Log, type S3LogOptions } from "./log.ts";

export interface S3BucketOptions extends CheckpointerOptions, S3Connection {
  readonly bucketName: string;
  /** The prefix of all object names. @default "holdfast/" */
  readonly prefix?: string;
  /** Your own `S3Client`, instead of `region`, `endpoint` and `credentials`. It stays yours: `close()` leaves it open. */
  readonly client?: S3ClientShape;
  /** The time limit of one request, including its answer. @default 30000 */
  readonly requestTimeoutMs?: number;
  /**
   * How durable an answered PUT is. Amazon's S3 replicates. Behind an `endpoint`
   * that is unknown, so the lowest is assumed unless you say more. @default
   * "replicated" without an `endpoint`, "os" with one
   */
  readonly serverDurability?: Durability;
}

/** Keeps threads in a bucket of S3, R2, MinIO or another service that speaks S3's protocol. */
export class S3BucketCheckpointer extends Checkpointer {
  readonly #log: S3Log;

  constructor(options: S3BucketOptions) {
    const log = new S3Log(logOptions(options));
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

/** Needs `npm install @aws-sdk/client-s3`. */
export const s3BucketCheckpointer = (options: S3BucketOptions): S3BucketCheckpointer =>
  new S3BucketCheckpointer(options);

/** `s3://bucket/prefix?region=…`; `endpoint`, `forcePathStyle` and `serverDurability` may follow. Keys come from the environment. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  if (!URL.canParse(url)) throw withoutBucket();
  const { host, pathname, searchParams, username, password } = new URL(url);
  if (username !== "" || password !== "") {
    throw new StateError(
      "INVALID_ARGUMENT",
      "an s3 URL takes no keys; give them to the SDK (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or call s3BucketCheckpointer({ credentials })",
    );
  }
  const { forcePathStyle, serverDurability, ...rest } = Object.fromEntries(searchParams);
  assertParameters(url, rest, ["region", "endpoint"]);
  if (host === "") throw withoutBucket();
  const prefix = decodeURIComponent(pathname).replace(/^\//, "");
  return new S3BucketCheckpointer({
    ...options,
    ...rest,
    bucketName: decodeURIComponent(host),
    ...(prefix !== "" && { prefix }),
    ...(forcePathStyle !== undefined && { forcePathStyle: isTrue("forcePathStyle", forcePathStyle) }),
    ...(serverDurability !== undefined && { serverDurability: serverDurability as Durability }),
  });
}

const withoutBucket = (): StateError =>
  new StateError("INVALID_ARGUMENT", "an s3 URL needs a bucket: s3://my-bucket/prod");

function isTrue(name: string, value: string): boolean {
  if (value === "true" || value === "false") return value === "true";
  throw new StateError("INVALID_ARGUMENT", `${name} in an s3 URL must be true or false`);
}

function logOptions(options: S3BucketOptions): S3LogOptions {
  assertOptions("s3BucketCheckpointer", options, {
    bucketName: "string",
    prefix: "string",
    region: "string",
    endpoint: "string",
    forcePathStyle: "boolean",
    credentials: "object",
    client: "object",
    requestTimeoutMs: "number",
    serverDurability: "string",
  });
  const { bucketName, client, prefix = "holdfast/", requestTimeoutMs = 30_000, endpoint } = options;
  const { access = "write" } = options;
  if (typeof bucketName !== "string" || bucketName === "") {
    throw new StateError("INVALID_ARGUMENT", 'the option "bucketName" must be the name of a bucket');
  }
  if (bucketName.endsWith("--x-s3")) {
    const why = "a directory bucket of S3 Express lists its objects in no order, which listing threads needs";
    throw new StateError("INVALID_ARGUMENT", `${why}; use a general purpose bucket instead of ${bucketName}`);
  }
  if (!(requestTimeoutMs > 0)) {
    throw new StateError("INVALID_ARGUMENT", 'the option "requestTimeoutMs" must be greater than 0');
  }
  const assumed = endpoint === undefined && client === undefined ? "replicated" : "os";
  const { serverDurability = assumed } = options;
  assertDurability(serverDurability);
  return {
    bucketName,
    access,
    prefix: checkedPrefix(prefix),
    client,
    requestTimeoutMs,
    serverDurability,
    connection: options,
  };
}
