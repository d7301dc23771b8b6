export type {
  AwsClientShape as S3ClientShape,
  AwsCredentials as S3Credentials,
} from "../../driver/aws.ts";
export { S3BucketCheckpointer, type S3BucketOptions, s3BucketCheckpointer } from "./checkpointer.ts";
export type { S3Connection } from "./connect.ts";
export { type S3StoreOptions, s3Store } from "./store.ts";
