/** What an agent loads with its first run. */

export { giveUpThread } from "./giving-up.ts";
export { answering, completing, goingOn, saying } from "./openings.ts";
export { assertRecoverOptions, nothingToRecover, recoverThreads } from "./recovering.ts";
export { Runner } from "./runner.ts";
export { settleError } from "./unsettled.ts";
export { updateThread } from "./updating-thread.ts";
