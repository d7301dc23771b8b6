/** What a checkpointer loads with the first operation that few programs need. */

export { findByMetadata, findThreads } from "../find/finding.ts";
export { readInbox } from "../find/inbox.ts";
export { searchThreads } from "../find/searching.ts";
export { summariseThreads, threadIds, threadStats } from "../find/summary.ts";
export { copyThread, forkThread, lineageOf } from "../history/branching.ts";
export { deleteCheckpoint } from "../history/editing.ts";
export { removeThread, removeThreadAt } from "../history/removing-threads.ts";
export { assertVacuumOptions, planVacuum, vacuumThreads } from "../history/retention.ts";
export { settleCall } from "../history/settling-calls.ts";
export { verifyThread } from "../history/verifying.ts";
export { sendSignal, signalsWaiting } from "../signals/sending.ts";
