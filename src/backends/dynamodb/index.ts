export { DynamodbCheckpointer, type DynamodbOptions, dynamodbCheckpointer } from "./checkpointer.ts";
