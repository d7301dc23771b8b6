import { indexBody } from "./layout.ts";

/** The body for the create-index API, for a deployment that creates the index. Index templates take it as `template`. */
export function opensearchIndex({ shards = 1, replicas = 1 }: { shards?: number; replicas?: number } = {}): object {
  return indexBody({ shards, replicas });
}
