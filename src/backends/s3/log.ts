import { BucketLog } from "../../checkpoint/bucket-log/log.ts";
import type { Access } from "../../driver/access.ts";
import { type AwsClientShape, awsSecrets } from "../../driver/aws.ts";
import type { Durability } from "../../driver/durability.ts";
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
    const { client: given, connection, bucketName, access = "write", requestTimeoutMs, prefix } = options;
    const open = async () => {
      const sdk = await loadSdk();
      const place = { bucketName, access, probePrefix: prefix, requestTimeoutMs, ownsClient: given === undefined };
      return new S3Bucket(sdk, given ?? createClient(sdk, connection), place);
    };
    const { serverDurability: durability } = options;
    super({ name: "s3", secrets: awsSecrets(connection), durability, open, classify }, prefix);
  }
}
