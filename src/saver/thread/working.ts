/** What a saver loads with its first call. */

export { copyThread } from "../../checkpoint/history/branching.ts";
export { removeThread } from "../../checkpoint/history/removing-threads.ts";
export { ListReader, listThread } from "../history/listing.ts";
export { nothingWhereHeld, removeCheckpoints } from "../history/removing.ts";
export { assertGraphThread, graphThreadsIn, isGraph } from "./graph-kind.ts";
export { GraphThreads } from "./graph-threads.ts";
export { openCheckpoint } from "./reading.ts";
