/** What a saver loads with its first call. */

export { copyThread } from "../checkpoint/branching.ts";
export { removeThread } from "../checkpoint/removing-threads.ts";
export { assertGraphThread, graphThreadsIn, isGraph } from "./graph-kind.ts";
export { GraphThreads } from "./graph-threads.ts";
export { ListReader, listThread } from "./listing.ts";
export { openCheckpoint } from "./reading.ts";
export { nothingWhereHeld, removeCheckpoints } from "./removing.ts";
