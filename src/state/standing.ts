import { countInDoubt, hasEndedTurn } from "./call-facts.ts";
import type { HeldFields } from "./held-fields.ts";
import { openCallsIn } from "./open-calls.ts";

/** What a thread waits for. Counts of 0 are left out. */
export interface Standing {
  /** Questions that wait for a person. */
  readonly waiting?: number;
  /** Tool calls without an outcome, including those that wait for a person. */
  readonly open?: number;
  /** Calls that somebody else must complete, and when the first of them is overdue. */
  readonly pending?: number;
  readonly dueAt?: number;
  /** Calls that were started and whose outcome is unknown. */
  readonly inDoubt?: number;
  /** The last turn did not finish. */
  readonly unfinished?: true;
  /** It was ended deliberately: by a limit of its run or by its caller. */
  readonly stopped?: true;
}

/** The key under which a state keeps why its last run ended before the turn was over. */
export const STOPPED_KEY = "holdfast.stopped";

/** What a listing can say about a state without reading it; `undefined` if it waits for nothing. */
export function standingOf(fields: HeldFields): Standing | undefined {
  const waiting = fields.interrupts.filter(({ answer }) => answer === undefined).length;
  const openCalls = openCallsIn(fields);
  const open = openCalls.length;
  if (waiting === 0 && open === 0 && fields.toolExecutions.length === 0) return standingOfTalk(fields);
  const pending = openCalls.flatMap(({ execution }) => (execution?.status === "pending" ? [execution] : []));
  const dueAt = Math.min(...pending.map((execution) => execution.dueAt ?? Number.POSITIVE_INFINITY));
  const inDoubt = countInDoubt(fields.toolExecutions);
  const isUnfinished = open > 0 || !isTurnOver(fields);
  const isStopped = isUnfinished && fields.providerState[STOPPED_KEY] !== undefined;
  if (waiting + inDoubt === 0 && !isUnfinished) return undefined;
  return {
    ...(waiting > 0 && { waiting }),
    ...(open > 0 && { open }),
    ...(pending.length > 0 && { pending: pending.length }),
    ...(Number.isFinite(dueAt) && { dueAt }),
    ...(inDoubt > 0 && { inDoubt }),
    ...(isUnfinished && { unfinished: true }),
    ...(isStopped && { stopped: true }),
  };
}

/** The same of a thread without any calls or questions. */
function standingOfTalk(fields: HeldFields): Standing | undefined {
  if (isTurnOver(fields)) return undefined;
  const isStopped = fields.providerState[STOPPED_KEY] !== undefined;
  return isStopped ? { unfinished: true, stopped: true } : { unfinished: true };
}

/** The same as a header field, which is absent if there is nothing to say. */
export function withStanding(fields: HeldFields): { readonly standing?: Standing } {
  const standing = standingOf(fields);
  return standing === undefined ? {} : { standing };
}

/**
 * True if the model spoke last, in full, without asking for a tool; or a tool that
 * ends the turn succeeded; or nobody said anything.
 */
function isTurnOver({ messages, toolExecutions }: HeldFields): boolean {
  const last = messages.findLast(({ role }) => role !== "tool");
  if (last === undefined || last.role === "system") return true;
  if (last.role !== "assistant" || last.incomplete === true) return false;
  const calls = last.toolCalls ?? [];
  if (calls.length === 0) return true;
  return hasEndedTurn(
    toolExecutions,
    calls.map(({ id }) => id),
  );
}
