import { resolve } from "node:path";
import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../checkpoint/context.ts";
import { parseLocalUrl } from "../driver/url.ts";
import { StateError } from "../errors.ts";
import { nearestName } from "../internal/known-options.ts";
import type { CheckpointSaver, SaverRules } from "../saver/checkpoint-saver.ts";
import { BACKENDS, type BackendEntry } from "./registry.ts";

/** The checkpointer for a URL: `sqlite:./agents.db`, `file:./threads`, `memory:`. Loads only that backend. */
export async function openCheckpointer(url: string, options: CheckpointerOptions = {}): Promise<Checkpointer> {
  if (typeof url !== "string") throw new TypeError("openCheckpointer() takes a URL string");
  const [backend, place] = [backendOf(url), fixedUrl(url)];
  const { openUrl } = await backend.load();
  return openUrl(place, options);
}

const ALL: readonly BackendEntry[] = Object.values(BACKENDS);

/** The backend of a URL's scheme; refuses an unknown one, with examples of those that are asked for. Loads nothing. */
export function backendOf(url: string, what = "backend", examples: readonly BackendEntry[] = ALL): BackendEntry {
  const scheme = schemeOf(url);
  const backend = ALL.find(({ schemes }) => scheme !== undefined && schemes.includes(scheme));
  if (backend === undefined) throw unknown(scheme, what, examples);
  return backend;
}

const schemeOf = (url: string): string | undefined => /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();

/** Nothing of the URL is repeated in the error: a malformed one may hold a password anywhere. */
function unknown(scheme: string | undefined, what: string, examples: readonly BackendEntry[]): StateError {
  // A drive letter of Windows looks like a scheme.
  const isPath = scheme === undefined || scheme.length === 1;
  // "postgresql+psycopg" names a driver too.
  const [name = ""] = (isPath ? "" : scheme).split("+");
  const meant = nearestName(
    name,
    examples.flatMap(({ schemes }) => schemes),
  );
  const close = name === "" ? undefined : examples.find(({ schemes }) => schemes.some((each) => each === meant));
  const shape = `it should look like ${examples.map(({ example }) => example).join(", ")}`;
  const instead = close === undefined ? shape : `did you mean ${close.example}?`;
  const paths = "; a path is no URL: write sqlite: before that of a database file, file: before that of a folder";
  return new StateError("INVALID_ARGUMENT", `no ${what} knows this URL; ${instead}${isPath ? paths : ""}`);
}

/**
 * The URL with its place on this machine as of now, for what opens it later: a relative path would follow the working
 * directory. Any other URL stays as it is.
 */
export function fixedUrl(url: string): string {
  const { isLocal = false } = backendOf(url);
  if (!isLocal) return url;
  const { path } = parseLocalUrl(url);
  if (path === "" || path === ":memory:") return url;
  const query = url.indexOf("?");
  return `${schemeOf(url)}:${encodeURI(resolve(path)).replaceAll("?", "%3F")}${query === -1 ? "" : url.slice(query)}`;
}

/** The saver for a URL, for graphs. Closing it closes the storage. */
export async function openSaver(url: string, options: CheckpointerOptions & SaverRules = {}): Promise<CheckpointSaver> {
  const { conflict, slackBytes, ...rest } = options;
  const rules = { ...(conflict !== undefined && { conflict }), ...(slackBytes !== undefined && { slackBytes }) };
  const opening = openCheckpointer(url, rest);
  const { saverInsteadOf } = await import("../saver/checkpoint-saver.ts");
  return saverInsteadOf(await opening, rules);
}
