import { nodeCrypto } from "../internal/node-builtins.ts";

/** One form for texts that differ only in case, width, spaces and punctuation. */
export function normalized(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Sc}%+#]+/gu, " ")
    .trim();
}

/**
 * What a fact is about, as an id. Not how similar its words are: "lives in Bern"
 * and "lives in Zurich" are nearer to each other than two ways of saying the same.
 * Where a subject may have several, each value is a fact of its own.
 */
export function memoryId(fact: { subject: string; attribute: string; value: string; many?: boolean }): string {
  const parts = [normalized(fact.subject), normalized(fact.attribute)];
  if (fact.many === true) parts.push(normalized(fact.value));
  return `m-${digest(JSON.stringify(parts))}`;
}

export const isSameText = (a: string, b: string): boolean => normalized(a) === normalized(b);

export const digest = (text: string): string =>
  nodeCrypto().createHash("sha256").update(text).digest("hex").slice(0, 24);
