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
    super(new S3Log(logOptions(options)), options);
  }
}

/** Needs `npm install @aws-sdk/client-s3`. */
export const s3BucketCheckpointer = (options: S3BucketOptions): S3BucketCheckpointer =>
  new S3BucketCheckpointer(options);

/** `s3://bucket/prefix?region=…`; `endpoint`, `forcePathStyle` and `serverDurability` may follow. Keys come from the environment. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  const { place, prefix, parameters } = parseBucketUrl(url, {
    example: "s3://my-bucket/prod",
    keys: "give them to the SDK (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or call s3BucketCheckpointer({ credentials })",
    known: ["region", "endpoint", "forcePathStyle", "serverDurability"],
  });
  const { forcePathStyle, serverDurability, ...rest } = parameters;
  return new S3BucketCheckpointer({
    ...options,
    ...rest,
    ...prefix,
    bucketName: place,
    ...truth("forcePathStyle", forcePathStyle),
    ...(serverDurability !== undefined && { serverDurability: serverDurability as Durability }),
  });
}

function logOptions(options: S3BucketOptions): S3LogOptions {
  const kinds = { ...BUCKET_KINDS, ...AWS_KINDS, bucketName: "string", forcePathStyle: "boolean" } as const;
  assertOptions("s3BucketCheckpointer", options, kinds);
  const { bucketName, client, access = "write" } = options;
  const terms = bucketTerms("bucketName", { ...options });
  if (bucketName.endsWith("--x-s3")) {
    const why = "a directory bucket of S3 Express lists its objects in no order, which listing threads needs";
    throw new StateError("INVALID_ARGUMENT", `${why}; use a general purpose bucket instead of ${bucketName}`);
  }
  return { ...terms, bucketName, access, client, serverDurability: awsDurability(options), connection: options };
}
