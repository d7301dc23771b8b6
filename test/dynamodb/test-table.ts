import { randomBytes } from "node:crypto";
import { DynamodbCheckpointer, type DynamodbOptions } from "../../src/backends/dynamodb/index.ts";
import type { WiredStorage } from "../network/wire-cuts.ts";

/** Options for a checkpointer on a server of the tests, below a prefix of its own in their one table. */
export interface DynamodbPlace extends DynamodbOptions {
  readonly prefix: string;
}

export function dynamodbPlace(serverUrl: string, prefix = `test-${randomBytes(6).toString("hex")}/`): DynamodbPlace {
  const { username, password, host } = new URL(serverUrl);
  return {
    tableName: "holdfast-tests",
    createTable: true,
    endpoint: `http://${host}`,
    credentials: { accessKeyId: username, secretAccessKey: password },
    prefix,
  };
}

/** The URL that a user would open, with the keys where the SDK looks for them. */
export function dynamodbUrl(serverUrl: string): {
  readonly url: string;
  readonly environment: Readonly<Record<string, string>>;
} {
  const { username, password, host } = new URL(serverUrl);
  const query = new URLSearchParams({ endpoint: `http://${host}`, createTable: "true" });
  return {
    url: `dynamodb://holdfast-tests/processes-${randomBytes(4).toString("hex")}?${query}`,
    environment: { AWS_ACCESS_KEY_ID: username, AWS_SECRET_ACCESS_KEY: password },
  };
}

/** The server behind a wire. */
export function wiredDynamodb(serverUrl: string): WiredStorage {
  const place = dynamodbPlace(serverUrl);
  return {
    targetPort: Number(new URL(serverUrl).port),
    open: async (port, options) =>
      new DynamodbCheckpointer({
        ...options,
        ...place,
        endpoint: `http://127.0.0.1:${port}`,
        requestTimeoutMs: 30_000,
      }),
  };
}
