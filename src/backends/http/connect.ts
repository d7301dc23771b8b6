import { StateError } from "../../errors.ts";
import type { HTTPCheckpointerOptions } from "./index.ts";
import type { Connection } from "./requests.ts";

/** What every request needs, out of the options; refuses what cannot be right. Opens nothing. */
export function connectionOf(options: HTTPCheckpointerOptions): Connection {
  const { baseUrl, token, timeoutMs = 30_000, headers = {} } = options;
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) throw invalidUrl();
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") throw invalidUrl();
  if (url.username !== "" || url.password !== "") {
    throw new StateError("INVALID_ARGUMENT", "baseUrl must hold no credentials; the token is an option of its own");
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new StateError("INVALID_ARGUMENT", "the token must be printable ASCII without spaces");
  }
  if (!(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw new StateError("INVALID_ARGUMENT", "timeoutMs must be a number greater than 0");
  }
  // On the same machine, packing and unpacking answers costs more than moving them.
  const packing = /^(?:localhost|127\.|\[::1\])/.test(url.hostname) ? { "accept-encoding": "identity" } : {};
  return {
    baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, "")}`,
    token,
    timeoutMs,
    headers: { ...packing, ...headers },
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
  };
}

/** The URL itself is not repeated: what is not understood may hold a password anywhere. */
export const invalidUrl = (): StateError =>
  new StateError("INVALID_ARGUMENT", 'baseUrl must look like "https://state.example.com" or "http://127.0.0.1:8420"');
