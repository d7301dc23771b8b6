export { type OpensearchCheckpointerOptions, opensearchCheckpointer } from "./checkpointer.ts";
export {
  type OpenSearchAuth,
  type OpenSearchClient,
  type OpenSearchRequest,
  type OpenSearchTls,
  type OpensearchConnection,
  type OpensearchConnectionOptions,
  opensearchConnection,
} from "./connect.ts";
export { opensearchIndex } from "./index-body.ts";
