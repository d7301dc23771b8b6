import { BucketCheckpointer, parseBucketUrl, truth } from "../../checkpoint/bucket-log/bucket-checkpointer.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import type { Durability } from "../../driver/durability.ts";
import { DynamodbLog, type DynamodbOptions } from "./log.ts";

export type { DynamodbOptions } from "./log.ts";

/** Keeps threads in a table of DynamoDB. */
export class DynamodbCheckpointer extends BucketCheckpointer {
  constructor(options: DynamodbOptions) {
    super(new DynamodbLog(options), options);
  }
}

/** Needs `npm install @aws-sdk/client-dynamodb`. */
export const dynamodbCheckpointer = (options: DynamodbOptions): DynamodbCheckpointer =>
  new DynamodbCheckpointer(options);

/** `dynamodb://table/prefix?region=…`; `endpoint`, `createTable`, `expireAfterIdleDays` and `serverDurability` may follow. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  new DynamodbCheckpointer({ ...options, ...dynamodbPlace(url) });

/** What a URL says as options. */
export function dynamodbPlace(url: string): DynamodbOptions {
  const { place, prefix, parameters } = parseBucketUrl(url, {
    example: "dynamodb://my-table/prod",
    keys: "give them to the SDK (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or call dynamodbCheckpointer({ credentials })",
    known: ["region", "endpoint", "createTable", "expireAfterIdleDays", "serverDurability"],
  });
  const { createTable, expireAfterIdleDays, serverDurability, ...rest } = parameters;
  return {
    ...rest,
    ...prefix,
    tableName: place,
    ...truth("createTable", createTable),
    ...(expireAfterIdleDays !== undefined && { expireAfterIdleDays: Number(expireAfterIdleDays) }),
    ...(serverDurability !== undefined && { serverDurability: serverDurability as Durability }),
  };
}
