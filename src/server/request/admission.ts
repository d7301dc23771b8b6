import { Refusal } from "./refusal.ts";

/** What may stand in a path of ours. No escapes, no empty and no dot segments: nothing that two readers could read as two paths. */
const PATH = /^(?:\/|(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+)$/;

/**
 * Refuses a request target that a proxy on the way may understand as a different one.
 */
export function assertPlainTarget(target: string): void {
  const [path = ""] = target.split("?", 1);
  if (PATH.test(path)) return;
  throw new Refusal(
    "INVALID_ARGUMENT",
    "the path holds an escape, an empty or dot segment, or a character that no route has",
  );
}

/**
 * Refuses what a web page of a stranger can make a browser send: a name that was
 * pointed at this address afterwards (DNS rebinding), or a call across origins.
 */
export function assertWelcome(
  headers: Pick<Headers, "get">,
  {
    allowedHosts,
    allowedOrigins,
  }: { readonly allowedHosts: readonly string[]; readonly allowedOrigins: readonly string[] },
): void {
  const host = headers.get("host")?.toLowerCase() ?? "";
  const name = host.replace(/:\d+$/, "");
  if (!allowedHosts.some((allowed) => allowed.toLowerCase() === host || allowed.toLowerCase() === name)) {
    throw new Refusal(
      "PERMISSION_DENIED",
      "this service does not go by that Host; allowedHosts lists the names it goes by",
    );
  }
  const origin = headers.get("origin");
  if (origin !== null) {
    if (allowedOrigins.includes(origin)) return;
    throw new Refusal("PERMISSION_DENIED", "pages of this Origin may not call; allowedOrigins lists those that may");
  }
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "none" || site === "same-origin") return;
  throw new Refusal("PERMISSION_DENIED", "pages of another site may not call");
}
