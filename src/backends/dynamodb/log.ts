import {
  BUCKET_KINDS,
  type BucketCheckpointerOptions,
  bucketTerms,
} from "../../checkpoint/bucket-log/bucket-checkpointer.ts";
import { Layout } from "../../checkpoint/bucket-log/layout.ts";
import { BucketLog } from "../../checkpoint/bucket-log/log.ts";
import { AWS_KINDS, type AwsOptions, awsClientOptions, awsDurability, awsSecrets } from "../../driver/aws.ts";
import type { BucketSource } from "../../driver/object-bucket.ts";
import { assertOptions } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { DynamodbBucket } from "./bucket.ts";
import { classify } from "./classify.ts";
import { loadSdk } from "./table.ts";

export interface DynamodbOptions extends BucketCheckpointerOptions, AwsOptions {
  readonly tableName: string;
  /** Whether a missing table is made, with on-demand capacity. Otherwise it is an error that says how. @default false */
  readonly createTable?: boolean;
  /**
   * Lets the table delete threads that were not saved for this many days, by its time to live on the attribute
   * `expires`. A table that is made here has it switched on; elsewhere switch it on yourself. The remaining items of
   * such a thread are deleted by the next `removeLeftovers`. @default threads stay
   */
  readonly expireAfterIdleDays?: number;
}

const SECONDS_A_DAY = 86_400;

/** The table as a bucket, and where in it everything lies. */
export function dynamodbSource(factory: string, options: DynamodbOptions): BucketSource & { readonly prefix: string } {
  const own = { tableName: "string", createTable: "boolean", expireAfterIdleDays: "number" } as const;
  assertOptions(factory, options, { ...BUCKET_KINDS, ...AWS_KINDS, ...own });
  const { tableName, client: given, access = "write", createTable = false, now = Date.now } = options;
  const { expireAfterIdleDays: days } = options;
  if (days !== undefined && !(days > 0 && days <= 36_500)) {
    throw new StateError("INVALID_ARGUMENT", 'the option "expireAfterIdleDays" must be a number of days');
  }
  const { prefix, requestTimeoutMs } = bucketTerms("tableName", { ...options });
  // Only the threads' documents, which every save rewrites: an old page of a thread that is in use must stay.
  const idle = new Layout(prefix).documents;
  const expiry =
    days === undefined ? undefined : { prefix: idle, at: () => Math.ceil(now() / 1000 + days * SECONDS_A_DAY) };
  const place = { tableName, access, createTable, expiry, requestTimeoutMs, ownsClient: given === undefined };
  const open = async () => {
    const sdk = await loadSdk();
    return new DynamodbBucket(sdk, given ?? new sdk.DynamoDBClient(awsClientOptions(options)), place);
  };
  return { name: "dynamodb", secrets: awsSecrets(options), durability: awsDurability(options), open, classify, prefix };
}

/** The log of object stores, in a table of DynamoDB. */
export class DynamodbLog extends BucketLog {
  constructor(options: DynamodbOptions) {
    const source = dynamodbSource("dynamodbCheckpointer", options);
    super(source, source.prefix);
  }
}
