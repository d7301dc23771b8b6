import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../checkpoint/context.ts";
import { StateError } from "../errors.ts";
import type { CheckpointSaver, SaverRules } from "../saver/checkpoint-saver.ts";
import { BACKENDS, type BackendEntry } from "./registry.ts";

/** The checkpointer for a URL: `sqlite:./agents.db`, `file:./threads`, `memory:`. Loads only that backend. */
export async function openCheckpointer(url: string, options: CheckpointerOptions = {}): Promise<Checkpointer> {
  if (typeof url !== "string") throw new TypeError("openCheckpointer() takes a URL string");
  const { openUrl } = await backendOf(url).load();
  return openUrl(url, options);
}

/** The backend of a URL's scheme; refuses an unknown one. Loads nothing. */
export function backendOf(url: string): BackendEntry {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  const backend = Object.values(BACKENDS).find(({ schemes }) => scheme !== undefined && schemes.includes(scheme));
  if (backend === undefined) {
    const examples = Object.values(BACKENDS).map(({ example }) => example);
    // The URL is not repeated in the error: a malformed URL may hold a password anywhere.
    throw new StateError("INVALID_ARGUMENT", `no backend knows this URL; it should look like ${examples.join(", ")}`);
  }
  return backend;
}

/** The saver for a URL, for graphs. Closing it closes the storage. */
export async function openSaver(url: string, options: CheckpointerOptions & SaverRules = {}): Promise<CheckpointSaver> {
  const { conflict, slackBytes, ...rest } = options;
  const rules = { ...(conflict !== undefined && { conflict }), ...(slackBytes !== undefined && { slackBytes }) };
  const { saverInsteadOf } = await import("../saver/checkpoint-saver.ts");
  return saverInsteadOf(await openCheckpointer(url, rest), rules);
}
