import { invalid } from "../../driver/options.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import type { ItemId } from "../driver/store-driver.ts";

/**
 * The position of the next page, with a proof of the walk it belongs to: used in
 * another walk, it would silently skip items.
 */
export function sealPosition(walk: unknown, position: unknown): string {
  const text = Buffer.from(JSON.stringify(position), "utf8").toString("base64url");
  return `${text}.${proofOf(walk, text)}`;
}

export function openPosition(walk: unknown, cursor: unknown): unknown {
  const [text = "", proof, ...rest] = typeof cursor === "string" ? cursor.split(".") : [];
  if (rest.length === 0 && proof === proofOf(walk, text)) return JSON.parse(Buffer.from(text, "base64url").toString());
  throw invalid("a cursor is the text that the page before gave; hand back page.cursor of the same call as it is");
}

/** What is behind a cursor of a listing. */
export function openItemPosition(walk: unknown, cursor: string | undefined): ItemId | undefined {
  if (cursor === undefined) return undefined;
  const [namespace, key] = openPosition(walk, cursor) as [string[], string];
  return { namespace, key };
}

const proofOf = (walk: unknown, text: string): string =>
  nodeCrypto()
    .createHash("sha256")
    .update(JSON.stringify([walk, text]))
    .digest("base64url")
    .slice(0, 8);
