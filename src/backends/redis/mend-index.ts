import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import type { KeyNames } from "./layout.ts";
import type { Send } from "./port.ts";
import { asReply, asText } from "./replies.ts";
import type { RunScript } from "./run-script.ts";
import { COMPLETE_INDEX, ENTER_FOUND, WALK } from "./scripts/thread-index.ts";

export interface MendedIndex {
  readonly run: RunScript;
  readonly keys: KeyNames;
  /** A sender to every server that holds threads. */
  readonly scanners: () => Promise<readonly Send[]>;
}

/** How often to start over if the server evicts the index during the repair. */
const MOST_ATTEMPTS = 3;
const KEYS_AT_ONCE = "1000";

/**
 * Adds every existing thread to an index that may lack some; `mark` is the mark it
 * was found with, "" for no index. See layout.ts. Costs a SCAN over all keys of the
 * servers, also those of others.
 */
export async function mendIndex(index: MendedIndex, mark: string): Promise<void> {
  let found = mark;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const outcome = await enterAll(index, found).catch((error: unknown) => {
      throw isReadOnly(error) ? onReplica(error) : error;
    });
    if (outcome === "complete") return;
    found = await markOf(index);
  }
  const what = "the index of thread ids was thrown away again and again while it was mended";
  throw new StateError(
    "UNAVAILABLE",
    `${what}: this server evicts; give it more memory and maxmemory-policy noeviction`,
  );
}

async function enterAll({ run, keys, scanners }: MendedIndex, found: string): Promise<"complete" | "lost"> {
  let mark = found;
  for (const scan of await scanners()) {
    for await (const ids of threadsIn(scan, keys)) {
      mark = asText(await run(ENTER_FOUND, [keys.ids], [mark, ...ids]));
      if (mark === "lost") return "lost";
    }
  }
  // No index and no threads: an empty store is complete.
  if (mark === "") return "complete";
  return asText(await run(COMPLETE_INDEX, [keys.ids], [mark])) as "complete" | "lost";
}

export async function* threadsIn(scan: Send, keys: KeyNames): AsyncGenerator<readonly string[]> {
  let cursor = "0";
  do {
    const reply = await scan(["SCAN", cursor, "MATCH", keys.threadPattern, "COUNT", KEYS_AT_ONCE, "TYPE", "hash"]);
    const [next, found] = reply as [unknown, unknown];
    cursor = asText(next);
    const ids = (asReply(found) ?? []).map((key) => keys.threadIdOf(asText(key))).filter((id) => id !== undefined);
    if (ids.length > 0) yield ids;
  } while (cursor !== "0");
}

async function markOf({ run, keys }: MendedIndex): Promise<string> {
  const reply = asReply(await run(WALK, [keys.ids], ["-", "+", "0"])) ?? [];
  return asText(reply[1]);
}

const isReadOnly = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("READONLY") && classify(error) === "UNAVAILABLE";

const onReplica = (cause: unknown): StateError => {
  const what = "the index of thread ids lacks some, and a replica cannot mend it";
  return new StateError("UNAVAILABLE", `${what}; list the threads once through the primary`, { cause });
};
