import { createHmac, timingSafeEqual } from "node:crypto";
import type { TokenEntry } from "../request/authentication.ts";
import { Refusal } from "../request/refusal.ts";

/**
 * Cursors are a driver's own words and may name things of the whole store. Each
 * goes out signed for one tenant and one kind of listing, and only a cursor with
 * that signature is taken back.
 */
export class CursorSigner {
  readonly #key: Buffer;

  /**
   * The key comes from the digests of all tokens: the same after a restart and on
   * every replica with the same list, and known to no tenant, who has not seen
   * the tokens of the others.
   */
  constructor(tokens: readonly TokenEntry[] = []) {
    const digests = tokens.map(({ sha256 }) => sha256).sort();
    this.#key = createHmac("sha256", "holdfast cursors").update(digests.join(" ")).digest();
  }

  sign(cursor: string, purpose: string): string {
    return `${this.#mark(cursor, purpose)}${Buffer.from(cursor, "utf8").toString("base64url")}`;
  }

  verify(signed: string, purpose: string): string {
    const cursor = Buffer.from(signed.slice(MARK_LETTERS), "base64url").toString("utf8");
    const [given, wanted] = [Buffer.from(signed), Buffer.from(this.sign(cursor, purpose))];
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) return cursor;
    throw new Refusal(
      "INVALID_ARGUMENT",
      "this cursor was not issued for this list: send the page's cursor unchanged, or start from the beginning",
    );
  }

  #mark(cursor: string, purpose: string): string {
    const parts = JSON.stringify([purpose, cursor]);
    return createHmac("sha256", this.#key).update(parts, "utf8").digest().subarray(0, 15).toString("base64url");
  }
}

/** 120 bits, which is a whole number of letters. */
const MARK_LETTERS = 20;
