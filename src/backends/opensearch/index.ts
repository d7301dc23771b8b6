export { type OpensearchCheckpointerOptions, opensearchCheckpointer } from "./checkpointer.ts";
export type { OpenSearchAuth, OpenSearchClient, OpenSearchRequest, OpenSearchTls } from "./connect.ts";
export { opensearchIndex } from "./index-body.ts";
