import { StateError } from "../../errors.ts";

/** Words with a name between them. */
interface Span {
  readonly from: string;
  readonly to: string;
}

/**
 * Errors from below advise the holder of a state or a checkpointer. The caller of an
 * agent holds neither, and is told what to do with a run instead.
 */
const IN_TERMS_OF_A_RUN: readonly (readonly [said: string | Span, instead: string])[] = [
  [
    "Load it again and redo the change; nothing was written",
    "Another process wrote to it during this run. Run it again; what was saved is kept",
  ],
  [
    { from: "the lease of ", to: " is no longer held" },
    "another run took it over because this one gave no sign of life for too long. Run it again; what was saved is kept",
  ],
  [
    "It may have been written; saving the same state again applies it once",
    "It may have been written; run the thread again to continue from what was saved",
  ],
  [
    "Save it in several steps, with fewer new messages or fields in each",
    "Shorten the prompt or what the tools return: see maxToolResultChars",
  ],
  ["after close(); open the checkpointer again", "after the agent's checkpointer was closed; make a new agent"],
];

export const toldToCaller = (message: string): string =>
  IN_TERMS_OF_A_RUN.reduce((told, [said, instead]) => {
    if (typeof said === "string") return told.replace(said, instead);
    const from = told.indexOf(said.from);
    const to = from === -1 ? -1 : told.indexOf(said.to, from);
    return to === -1 ? told : told.slice(0, from) + instead + told.slice(to + said.to.length);
  }, message);

/** The same for what fails before there is anything to attach to a failure. */
export function inTermsOfARun(error: unknown): unknown {
  if (!StateError.is(error)) return error;
  const message = toldToCaller(error.message);
  return message === error.message ? error : new StateError(error.code, message, { ...error.context, cause: error });
}
