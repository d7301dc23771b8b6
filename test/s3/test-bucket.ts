import { randomBytes } from "node:crypto";
import { S3BucketCheckpointer, type S3BucketOptions } from "../../src/backends/s3/index.ts";
import type { WiredStorage } from "../network/wire-cuts.ts";

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

/** The URL that a user would open, with the keys where the SDK looks for them. */
export function s3Url(serverUrl: string): {
  readonly url: string;
  readonly environment: Readonly<Record<string, string>>;
} {
  const { username, password, host, pathname } = new URL(serverUrl);
  const query = new URLSearchParams({ endpoint: `http://${host}` });
  return {
    url: `s3:/${pathname}/processes-${randomBytes(4).toString("hex")}?${query}`,
    environment: { AWS_ACCESS_KEY_ID: username, AWS_SECRET_ACCESS_KEY: password },
  };
}

/** The server behind a wire. The signature covers the port that a client believes in, and the server takes its word. */
export function wiredS3(serverUrl: string): WiredStorage {
  const place = s3Place(serverUrl);
  return {
    targetPort: Number(new URL(serverUrl).port),
    open: async (port, options) =>
      new S3BucketCheckpointer({
        ...options,
        ...place,
        endpoint: `http://127.0.0.1:${port}`,
        requestTimeoutMs: 30_000,
      }),
  };
}
