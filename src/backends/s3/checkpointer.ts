import {
  BUCKET_KINDS,
  BucketCheckpointer,
  type BucketCheckpointerOptions,
  bucketTerms,
  parseBucketUrl,
  truth,
} from "../../checkpoint/bucket-log/bucket-checkpointer.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import type { Access } from "../../driver/access.ts";
import { AWS_KINDS, type AwsOptions, awsDurability } from "../../driver/aws.ts";
import type { Durability } from "../../driver/durability.ts";
import { assertOptions } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import type { S3Connection } from "./connect.ts";
import { S3Log, type S3LogOptions } from "./log.ts";

export interface S3BucketOptions extends BucketCheckpointerOptions, S3Connection, AwsOptions {
  readonly bucketName: string;
}

/** Keeps threads in a bucket of S3, R2, MinIO or another service that speaks S3's protocol. */
export class S3BucketCheckpointer extends BucketCheckpointer {
  constructor(options: S3BucketOptions) {
    assertOptions("s3BucketCheckpointer", options, S3_KINDS);
    super(new S3Log(s3LogOptions(options)), options);
  }
}

/** Needs `npm install @aws-sdk/client-s3`. */
export const s3BucketCheckpointer = (options: S3BucketOptions): S3BucketCheckpointer =>
  new S3BucketCheckpointer(options);

/** `s3://bucket/prefix?region=…`; `endpoint`, `forcePathStyle` and `serverDurability` may follow. Keys come from the environment. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  new S3BucketCheckpointer({ ...options, ...parseS3Url(url) });

/** Where in S3 threads or items are kept. */
export type S3Place = Pick<S3BucketOptions, "bucketName" | "prefix" | "requestTimeoutMs"> & S3Connection & AwsOptions;

export function parseS3Url(url: string): S3Place {
  const { place, prefix, parameters } = parseBucketUrl(url, {
    example: "s3://my-bucket/prod",
    keys: "give them to the SDK (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or to the factory: s3BucketCheckpointer({ credentials })",
    known: ["region", "endpoint", "forcePathStyle", "serverDurability"],
  });
  const { forcePathStyle, serverDurability, ...rest } = parameters;
  return {
    ...rest,
    ...prefix,
    bucketName: place,
    ...truth("forcePathStyle", forcePathStyle),
    ...(serverDurability !== undefined && { serverDurability: serverDurability as Durability }),
  };
}

export const S3_KINDS: Readonly<Record<keyof S3Place, "string" | "number" | "boolean" | "object">> = {
  ...BUCKET_KINDS,
  ...AWS_KINDS,
  bucketName: "string",
  forcePathStyle: "boolean",
};

export function s3LogOptions(options: S3Place & { readonly access?: Access }): S3LogOptions {
  const { bucketName, client, access = "write" } = options;
  const terms = bucketTerms("bucketName", { ...options });
  if (bucketName.endsWith("--x-s3")) {
    const why = "a directory bucket of S3 Express lists its objects in no order, which listing threads needs";
    throw new StateError("INVALID_ARGUMENT", `${why}; use a general purpose bucket instead of ${bucketName}`);
  }
  return { ...terms, bucketName, access, client, serverDurability: awsDurability(options), connection: options };
}
