import { checkedPrefix } from "../../checkpoint/bucket-log/layout.ts";
import { BucketLog } from "../../checkpoint/bucket-log/log.ts";
import type { Access } from "../../driver/access.ts";
import type { Durability } from "../../driver/durability.ts";
import { S3Bucket } from "./bucket.ts";
import { classify } from "./classify.ts";
import { createClient, loadSdk, type S3ClientShape, type S3Connection } from "./connect.ts";

export interface S3LogOptions {
  readonly bucketName: string;
  readonly access?: Access;
  readonly prefix: string;
  readonly connection: S3Connection;
  /** The client that was handed in; it stays open. */
  readonly client: S3ClientShape | undefined;
  readonly requestTimeoutMs: number;
  readonly serverDurability: Durability;
}

/** The object-store log, on a bucket of S3 or of a service that speaks its protocol. */
export class S3Log extends BucketLog {
  constructor(options: S3LogOptions) {
    const { client: given, connection, bucketName, access = "write", requestTimeoutMs } = options;
    const { prefix, serverDurability } = options;
    const open = async () => {
      const sdk = await loadSdk();
      const client = given ?? createClient(sdk, connection);
      const place = { bucketName, access, probePrefix: checkedPrefix(prefix), requestTimeoutMs };
      return new S3Bucket(sdk, client, { ...place, ownsClient: given === undefined });
    };
    const { credentials } = connection;
    const secrets = [credentials?.secretAccessKey, credentials?.sessionToken].filter((secret) => secret !== undefined);
    super({ name: "s3", secrets, durability: serverDurability, open, classify }, prefix);
  }
}
