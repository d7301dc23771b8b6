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
  // Both slashes of "scheme://" are punctuation only when an absolute path follows them.
  const path = place.startsWith("///") ? place.slice(2) : place;
  if (path.startsWith("//")) {
    const shown = JSON.stringify(redact(url));
    throw new StateError("INVALID_ARGUMENT", `${shown} names a host; write scheme:./relative or scheme:///absolute`);
  }
  return { path: decode(path, url), parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** For backends whose URL takes no parameters beyond those named. */
export function assertParameters(url: string, given: Readonly<Record<string, string>>, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const list = known.length === 0 ? "none" : known.join(", ");
    const shown = JSON.stringify(redact(url));
    throw new StateError(
      "INVALID_ARGUMENT",
      `${shown} has the unknown parameter ${JSON.stringify(name)}; known: ${list}`,
    );
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
