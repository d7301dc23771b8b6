/** What an agent loads with its first run. */

export { answering, completing, goingOn, saying } from "./opening.ts";
export { assertRecoverOptions, nothingToRecover, recoverThreads } from "./recovering.ts";
export { Runner } from "./runner.ts";
export { settleError } from "./unsettled.ts";
export { giveUpThread, updateThread } from "./updating-thread.ts";
