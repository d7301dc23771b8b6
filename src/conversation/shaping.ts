/** What the conversations of this package load with their first prompt. */

export { Compaction } from "./compaction.ts";
export { newestByCount } from "./newest-by-count.ts";
