/**
 * What a process does to several threads. Announced before it is done, so that the observer knows what a kill may have
 * met.
 */
export type ThreadsAction =
  | { readonly kind: "append"; readonly thread: string; readonly text: string }
  /** All checkpoints but the newest go: what the thread says stays. */
  | { readonly kind: "prune"; readonly thread: string }
  | { readonly kind: "delete"; readonly thread: string };

export const SEVERAL_THREADS: readonly string[] = Array.from({ length: 12 }, (_, at) => `thread ${at}`);

/** What each thread says that exists. Kept outside of the storage that is tested. */
export type ThreadsModel = ReadonlyMap<string, readonly string[]>;

export function afterAction(model: ThreadsModel, action: ThreadsAction): ThreadsModel {
  const next = new Map(model);
  if (action.kind === "delete") next.delete(action.thread);
  if (action.kind === "append") next.set(action.thread, [...(model.get(action.thread) ?? []), action.text]);
  return next;
}
