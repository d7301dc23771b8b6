import { randomBytes } from "node:crypto";
import type { S3BucketOptions } from "../../src/backends/s3/index.ts";

/** Options for a checkpointer on a server of the tests, below a prefix of its own. */
export interface S3Place extends S3BucketOptions {
  readonly prefix: string;
}

export function s3Place(serverUrl: string, prefix = `test-${randomBytes(6).toString("hex")}/`): S3Place {
  const { username, password, host, pathname } = new URL(serverUrl);
  return {
    bucketName: pathname.slice(1),
    endpoint: `http://${host}`,
    credentials: { accessKeyId: username, secretAccessKey: password },
    prefix,
  };
}
