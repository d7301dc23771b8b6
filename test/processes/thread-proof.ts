import { isDeepStrictEqual } from "node:util";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { textOf } from "../../src/state/message.ts";
import { type Action, after, type ThreadModel } from "./thread-model.ts";

/**
 * The model that the stored thread agrees with: the given one, or the one after the
 * unacknowledged action. Throws where it is neither.
 */
export async function settle(
  checkpointer: Checkpointer,
  thread: string,
  acknowledged: ThreadModel,
  pending: Action | undefined,
): Promise<ThreadModel> {
  const stored = await read(checkpointer, thread);
  if (agrees(stored, acknowledged)) return acknowledged;
  const possible = pending && after(acknowledged, pending, undefined);
  if (possible !== undefined && agrees(stored, possible)) {
    return possible.map((checkpoint, index) => ({ ...checkpoint, id: stored.history[index]?.id }));
  }
  const told = {
    stored: shape(stored),
    acknowledged: acknowledged.map(brief),
    pending,
    possible: possible?.map(brief),
  };
  throw new Error(`the thread is neither before nor after the last action: ${JSON.stringify(told)}`);
}

/** Loads checkpoints by their names and compares each with what was saved under it. */
export async function proveCheckpoints(checkpointer: Checkpointer, thread: string, model: ThreadModel): Promise<void> {
  for (const { id, texts } of model) {
    const state = await checkpointer.load(thread, { checkpointId: id! });
    if (!isDeepStrictEqual(state?.messages.map(textOf), texts)) {
      throw new Error(`checkpoint ${id} does not hold what was saved: ${state?.messages.length} of ${texts.length}`);
    }
  }
}

interface StoredThread {
  readonly history: readonly { readonly id: string; readonly messageCount: number | undefined }[];
  readonly texts: readonly string[];
}

async function read(checkpointer: Checkpointer, thread: string): Promise<StoredThread> {
  const history: { id: string; messageCount: number | undefined }[] = [];
  for await (const { checkpointId, messageCount } of checkpointer.history(thread)) {
    history.push({ id: checkpointId, messageCount });
  }
  return { history, texts: (await checkpointer.load(thread))?.messages.map(textOf) ?? [] };
}

function agrees(stored: StoredThread, model: ThreadModel): boolean {
  if (stored.history.length !== model.length) return false;
  const sameHistory = model.every(({ id, texts }, index) => {
    const found = stored.history[index];
    return found?.messageCount === texts.length && (id === undefined || found.id === id);
  });
  return sameHistory && isDeepStrictEqual(stored.texts, model[0]?.texts ?? []);
}

const brief = ({ id, texts }: ThreadModel[number]): string => `${id} (${texts.length})`;

const shape = ({ history, texts }: StoredThread): object => ({
  history: history.map(({ id, messageCount }) => `${id} (${messageCount})`),
  newest: texts.length,
});
