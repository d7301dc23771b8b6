/**
 * What a process does to a thread. Announced before it is done, so that the observer knows what a kill may have met.
 */
export type Action =
  | { readonly kind: "append"; readonly text: string; readonly checkpointId?: string }
  | { readonly kind: "rewrite"; readonly texts: readonly string[] }
  | { readonly kind: "delete"; readonly checkpointId: string }
  | { readonly kind: "vacuum"; readonly keepLast: number };

export interface ModelCheckpoint {
  /** `undefined` while unknown: its save was never acknowledged. */
  readonly id: string | undefined;
  readonly texts: readonly string[];
}

/** A thread as it must be, newest checkpoint first. Kept outside of the storage that is tested. */
export type ThreadModel = readonly ModelCheckpoint[];

/** The thread after an action; `id` is the checkpoint that a save answered with. */
export function after(model: ThreadModel, action: Action, id: string | undefined): ThreadModel {
  switch (action.kind) {
    case "append": {
      const others = model.filter((checkpoint) => checkpoint.id !== action.checkpointId || checkpoint.id === undefined);
      return [{ id: action.checkpointId ?? id, texts: [...(model[0]?.texts ?? []), action.text] }, ...others];
    }
    case "rewrite":
      return [{ id, texts: action.texts }, ...model];
    case "delete":
      return model.filter((checkpoint) => checkpoint.id !== action.checkpointId);
    case "vacuum":
      return model.slice(0, action.keepLast);
  }
}
