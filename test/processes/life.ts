import type { ProgramProcess } from "./programs.ts";
import { type Action, after, type ThreadModel } from "./thread-model.ts";

/** What a process said of its work until it said no more. */
export interface Life {
  readonly begun: readonly Action[];
  /** What each finished action answered: the id of a new checkpoint, or `null`. */
  readonly acked: readonly (string | null)[];
}

export function lifeOf({ said }: ProgramProcess): Life {
  const lines = said as readonly ({ readonly begin?: Action; readonly done?: string | null } | string)[];
  const words = lines.filter((line) => typeof line === "object");
  return {
    begun: words.flatMap(({ begin }) => begin ?? []),
    acked: words.flatMap(({ done }) => (done === undefined ? [] : [done])),
  };
}

/** The thread after everything that was acknowledged. */
export function replayed(model: ThreadModel, { begun, acked }: Life): ThreadModel {
  return acked.reduce<ThreadModel>((thread, id, index) => after(thread, begun[index]!, id ?? undefined), model);
}
