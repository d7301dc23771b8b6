import { BucketLog } from "../../checkpoint/bucket-log/log.ts";
import type { Access } from "../../driver/access.ts";
import { type AwsClientShape, awsSecrets } from "../../driver/aws.ts";
import type { Durability } from "../../driver/durability.ts";
import type { BucketSource } from "../../driver/object-bucket.ts";
import type { ServerClock } from "../../driver/server-clock.ts";
import { S3Bucket } from "./bucket.ts";
import { classify } from "./classify.ts";
import { createClient, loadSdk, type S3Connection } from "./connect.ts";

export interface S3LogOptions {
  readonly bucketName: string;
  readonly access?: Access;
  readonly prefix: string;
  readonly connection: S3Connection;
  /** The client that was handed in; it stays open. */
  readonly client: AwsClientShape | undefined;
  readonly requestTimeoutMs: number;
  readonly serverDurability: Durability;
}

/** The log of object stores, on a bucket of S3 or of a service that speaks its protocol. */
export class S3Log extends BucketLog {
  constructor(options: S3LogOptions) {
    super(s3BucketSource(options), options.prefix);
  }
}

/** The bucket for any driver that stands on one. `clock` is told the dates of all answers. */
export function s3BucketSource(options: S3LogOptions, clock?: ServerClock): BucketSource {
  const { client: given, connection, bucketName, access = "write", requestTimeoutMs, prefix } = options;
  const open = async () => {
    const sdk = await loadSdk();
    const place = { bucketName, access, probePrefix: prefix, requestTimeoutMs, ownsClient: given === undefined };
    return new S3Bucket(sdk, given ?? createClient(sdk, connection), {
      ...place,
      ...(clock !== undefined && { clock }),
    });
  };
  const { serverDurability: durability } = options;
  return { name: "s3", secrets: awsSecrets(connection), durability, open, classify };
}
