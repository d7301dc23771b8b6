import { StateError } from "../../errors.ts";
import { type HTTPConnectionOptions, invalidUrl } from "./connect.ts";

/**
 * Parses a service's URL: `https://state.example.com`, or with its token
 * `https://:<token>@state.example.com`. No error shows any part of it, because a
 * token may have been put anywhere.
 */
export function readServiceUrl(url: string): HTTPConnectionOptions {
  if (!URL.canParse(url)) throw misread();
  const { origin, pathname, username, password, hash, searchParams } = new URL(url);
  // A raw slash, question mark or hash would cut a token, and send the rest of it as part of the path.
  if (hash !== "" || pathname.includes("@")) throw misread();
  for (const [name, value] of searchParams) {
    if (name === "allowPlainHttp" && value === "true") continue;
    throw new StateError(
      "INVALID_ARGUMENT",
      `the URL of a service has an unknown parameter; it takes allowPlainHttp=true alone. ${HOW_TO_WRITE_IT}`,
    );
  }
  if (username !== "") throw new StateError("INVALID_ARGUMENT", HOW_TO_WRITE_IT);
  const token = unescaped(password);
  const allowPlainHttp = searchParams.has("allowPlainHttp");
  return {
    baseUrl: `${origin}${pathname}`,
    ...(token !== "" && { token }),
    ...(allowPlainHttp && { allowPlainHttp }),
  };
}

const HOW_TO_WRITE_IT =
  "A token stands behind a colon, https://:<token>@state.example.com, with its / ? # and @ written as %2F %3F %23 and %40";

const misread = (): StateError => new StateError("INVALID_ARGUMENT", `${invalidUrl().message}. ${HOW_TO_WRITE_IT}`);

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw misread();
  }
}
