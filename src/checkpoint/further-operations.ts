/** What a checkpointer loads with the first operation that few programs need. */

export { copyThread, forkThread, lineageOf } from "./branching.ts";
export { deleteCheckpoint } from "./editing.ts";
export { removeThread, removeThreadAt } from "./removing-threads.ts";
export { assertVacuumOptions, planVacuum, vacuumThreads } from "./retention.ts";
export { searchThreads } from "./searching.ts";
export { threadStats } from "./stats.ts";
export { verifyThread } from "./verifying.ts";
