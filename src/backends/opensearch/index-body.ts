import { indexBody } from "./layout.ts";

/** What the create-index API takes, for a deployment that makes the index itself. Index templates take it as `template`. */
export function opensearchIndex({ shards = 1, replicas = 1 }: { shards?: number; replicas?: number } = {}): object {
  return indexBody({ shards, replicas });
}
