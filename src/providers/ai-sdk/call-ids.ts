import { createHash } from "node:crypto";
import { familyOf } from "./own-notes.ts";

/**
 * Providers that refuse a whole conversation for one tool call id that does not
 * look like theirs. A thread that began with another model would never be
 * answered again. Others (Kimi, for one) want their odd ids back unchanged.
 */
const STRICT_FAMILIES: ReadonlySet<string> = new Set(["openai", "azure", "anthropic", "bedrock", "google-vertex"]);
const ACCEPTED_BY_ALL = /^[a-zA-Z0-9_-]{1,40}$/;

/** The id as the provider accepts it: the same one each time, so that call and result still meet. */
export function acceptedCallId(id: string, provider: string): string {
  if (!STRICT_FAMILIES.has(familyOf(provider)) || ACCEPTED_BY_ALL.test(id)) return id;
  return `call_${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}
