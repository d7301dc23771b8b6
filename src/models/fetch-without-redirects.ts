/**
 * A `fetch` that follows no redirect. `fetch` itself would send a provider's key
 * (`x-api-key`, `x-goog-api-key`) and the whole conversation on to whatever host
 * the answer names; only `authorization` is taken off on the way.
 */
export function fetchWithoutRedirects(send?: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await (send ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    // In a browser the answer is opaque and its status is 0.
    if (response.type !== "opaqueredirect" && !REDIRECTS.has(response.status)) return response;
    await response.body?.cancel();
    throw new RefusedRedirect(input instanceof Request ? input.url : String(input), response);
  };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

class RefusedRedirect extends Error {
  override readonly name = "RefusedRedirect";
  /** The next attempt would be sent the same way. */
  readonly isRetryable = false;

  constructor(from: string, { status, headers }: Response) {
    super(
      `${placeOf(from, from)} answered with a redirect (HTTP ${status || "3xx"}) to ${placeOf(headers.get("location"), from)}. ` +
        "It was not followed, so that the API key and the conversation stay with the host you named; " +
        "if it is the right place, set it as baseUrl",
    );
  }
}

/** Without the query, which may hold a key. */
function placeOf(location: string | null, from: string): string {
  if (location === null || !URL.canParse(location, from)) return "an unknown place";
  const { origin, pathname } = new URL(location, from);
  return `${origin}${pathname}`;
}
