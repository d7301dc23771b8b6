import {
  BUCKET_KINDS,
  BucketCheckpointer,
  type BucketCheckpointerOptions,
  bucketTerms,
  parseBucketUrl,
} from "../../checkpoint/bucket-log/bucket-checkpointer.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import type { Access } from "../../driver/access.ts";
import { assertOptions } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { AUTH_KINDS } from "./auth.ts";
import type { ObjectStorageClientShape, OciConnection } from "./connect.ts";
import { OciLog, type OciLogOptions } from "./log.ts";

export interface OCIBucketOptions extends BucketCheckpointerOptions, OciConnection {
  readonly bucketName: string;
  /** The tenancy's Object Storage namespace. Looked up on first use if not given. */
  readonly namespace?: string;
  /** The compartment in which a missing bucket is created. Without it, a missing bucket is an error. */
  readonly compartmentId?: string;
  /** Your own `ObjectStorageClient`, instead of `region`, `endpoint` and `auth`. It stays yours: `close()` leaves it open. */
  readonly client?: ObjectStorageClientShape;
}

/** Keeps threads in a bucket of OCI Object Storage. Needs `npm install oci-objectstorage oci-common`. */
export class OCIBucketBackend extends BucketCheckpointer {
  constructor(options: OCIBucketOptions) {
    assertOptions("OCIBucketBackend", withoutAuth(options), { ...OCI_KINDS, client: "object" });
    super(new OciLog(ociLogOptions(options)), options);
  }
}

export const ociBucketCheckpointer = (options: OCIBucketOptions): OCIBucketBackend => new OCIBucketBackend(options);

/** `oci://bucket/prefix?namespace=…&region=…`; `auth`, `profile`, `configFile`, `compartmentId` and `endpoint` may follow. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  new OCIBucketBackend({ ...options, ...parseOciUrl(url) });

/** Where in Object Storage threads or items are kept. */
export type OciPlace = Pick<
  OCIBucketOptions,
  "bucketName" | "namespace" | "compartmentId" | "prefix" | "requestTimeoutMs"
> &
  OciConnection;

export function parseOciUrl(url: string): OciPlace {
  const { place, prefix, parameters } = parseBucketUrl(url, {
    example: "oci://my-bucket/prod",
    keys: "they are in the config file of the SDK: auth, profile and configFile say which",
    known: ["namespace", "region", "compartmentId", "auth", "profile", "configFile", "endpoint"],
  });
  const { auth, ...rest } = parameters;
  const signed = auth === undefined ? {} : { auth: authKind(auth) };
  return { ...rest, ...prefix, bucketName: place, ...signed };
}

export const OCI_KINDS: Readonly<Record<keyof Omit<OciPlace, "auth">, "string" | "number">> = {
  ...BUCKET_KINDS,
  bucketName: "string",
  namespace: "string",
  compartmentId: "string",
  region: "string",
  endpoint: "string",
  configFile: "string",
  profile: "string",
};

export function ociLogOptions(
  options: OciPlace & { readonly access?: Access; readonly client?: ObjectStorageClientShape },
): OciLogOptions {
  const { bucketName, namespace, compartmentId, client, access = "write" } = options;
  const terms = bucketTerms("bucketName", { ...options });
  if (typeof options.auth === "string") authKind(options.auth);
  return { ...terms, bucketName, namespace, compartmentId, access, client, connection: options };
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
