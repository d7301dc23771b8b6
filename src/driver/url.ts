import { StateError } from "../errors.ts";
import { redact } from "../internal/redact.ts";

/** A URL whose path is a place on this machine: `sqlite:./a.db`, `sqlite:/var/a.db`, `file:///var/threads`. */
export interface LocalUrl {
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
}

export function parseLocalUrl(url: string): LocalUrl {
  const rest = url.slice(url.indexOf(":") + 1);
  const [place = "", query = ""] = splitOnce(rest, "?");
  // In "scheme://", both slashes are punctuation only if an absolute path follows.
  const path = place.startsWith("///") ? place.slice(2) : place;
  if (path.startsWith("//")) {
    const shown = JSON.stringify(redact(url));
    const scheme = url.slice(0, url.indexOf(":"));
    const fault = place.startsWith("////") ? "has four slashes where three begin an absolute path" : "names a host";
    throw new StateError(
      "INVALID_ARGUMENT",
      `${shown} ${fault}; write ${scheme}:///absolute/path or ${scheme}:./relative/path`,
    );
  }
  const decoded = decode(path, url);
  assertLocalPath(decoded);
  return { path: decoded, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** Refuses a path of Windows on another system, where it would name a new file in the working directory. */
export function assertLocalPath(path: string): void {
  if (process.platform === "win32" || !/^(?:\/?[A-Za-z]:[\\/]|\\\\)/.test(path)) return;
  throw new StateError(
    "INVALID_ARGUMENT",
    `${JSON.stringify(path)} is a path of Windows, and this is another system; a path here is /absolute/path or ./relative/path`,
  );
}

/**
 * Refuses a server URL whose password cannot be told from the rest of it. A URL
 * parser would take part of the password for a host, a database or a parameter,
 * and show it. The error shows nothing of the URL.
 */
export function assertAddress(url: string): void {
  const [, authority = "", rest = ""] = /^[^:/?#]*:\/\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  const [path, query] = splitOnce(rest, "?");
  const at = authority.lastIndexOf("@");
  const isHost = /^(\[[^\]]*\]|[^:[\]]*)(:\d*)?$/.test(authority.slice(at + 1));
  const isStrayQuery = at === -1 && query.split("&").some((one) => one.split("=")[0]?.includes("@"));
  if (isHost && !rest.includes("#") && !path.includes("@") && !isStrayQuery && isDecodable(authority)) return;
  throw new StateError(
    "INVALID_ARGUMENT",
    "the URL cannot be read. In a user, a password or a token / is written %2F, ? %3F, # %23, @ %40, : %3A and % %25 (encodeURIComponent does it); the URL is not shown, because it may hold one",
  );
}

/** For backends whose URL takes only the named parameters. Values are not shown, because one may be a token. */
export function assertParameters(url: string, given: Readonly<Record<string, string>>, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const list = known.length === 0 ? "none" : known.join(", ");
    const scheme = url.slice(0, url.indexOf(":"));
    const which = /^\w{1,40}$/.test(name) ? `the unknown parameter ${JSON.stringify(name)}` : "an unknown parameter";
    throw new StateError("INVALID_ARGUMENT", `the ${scheme} URL has ${which}; known: ${list}`);
  }
}

function splitOnce(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(path: string, url: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new StateError("INVALID_ARGUMENT", `${JSON.stringify(redact(url))} holds a broken %-escape`);
  }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
