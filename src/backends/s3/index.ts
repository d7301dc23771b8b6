export { S3BucketCheckpointer, type S3BucketOptions, s3BucketCheckpointer } from "./checkpointer.ts";
export type { S3ClientShape, S3Connection, S3Credentials } from "./connect.ts";
