import type { KeyObject } from "node:crypto";
import { invalid } from "../driver/options.ts";
import { nodeCrypto } from "../internal/node-builtins.ts";
import type { HoldNote } from "../state/people/legal-hold.ts";
import { canonicalJson } from "../state/values/codec.ts";
import type { RetentionReport } from "./retention.ts";

/** What was found and erased in one backend. */
export interface ErasedPlace {
  readonly backend: string;
  /** Records of threads that were rewritten. */
  readonly records: number;
  /** Messages, other values of states, and items of stores; what several checkpoints hold counts in each. */
  readonly messages: number;
  readonly fields: number;
  readonly items: number;
  /** Keys of the person that were destroyed. */
  readonly keys: number;
  /** What was done so that nothing readable is left in the storage's own files, and what remains. */
  readonly cleaned: readonly string[];
  readonly remains: readonly string[];
}

/** What was not read, or could not be. */
export interface Unreached {
  readonly where: string;
  readonly why: string;
}

/** What a legal hold kept from being erased or removed. */
export interface HeldBack extends HoldNote {
  /** In which backend, and how many messages, values, items, keys or threads. */
  readonly backend: string;
  readonly count: number;
}

/** What an erasure did, or would do. */
export interface ErasureReport {
  readonly dryRun: boolean;
  readonly places: readonly ErasedPlace[];
  readonly unreached: readonly Unreached[];
  readonly held: readonly HeldBack[];
}

/** Proof of an erasure. It contains nothing about the person, and is part of a chain. */
export interface ErasureReceipt extends ErasureReport {
  readonly format: 1;
  /** Its place in the chain, from 1. */
  readonly number: number;
  readonly requestId: string;
  /** A keyed hash of the person's id: only the holder of the key can tell whom it is about. */
  readonly subject: string;
  readonly reason: string | null;
  readonly process: "erase" | "keep";
  /** When it was requested, and when the last pass found nothing more. */
  readonly requestedAt: string;
  readonly finishedAt: string;
  readonly verified: boolean;
  /** The hash of the receipt before it. */
  readonly previous: string | null;
  readonly signature: string;
}

/** Proof of what rules of retention took. It names no thread, no item and no person. */
export interface RetentionReceipt extends Pick<RetentionReport, "dryRun" | "rules" | "totals" | "held" | "skipped"> {
  readonly format: 1;
  readonly kind: "retention";
  readonly number: number;
  readonly reason: string | null;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly previous: string | null;
  readonly signature: string;
}

/** What any receipt has by which it is proven and chained. */
export interface ChainedReceipt {
  readonly number: number;
  readonly previous: string | null;
  readonly signature: string;
}

/** What is derived from the one secret of the process that erases. */
export interface ErasureKeys {
  readonly publicKey: string;
  /** The keyed hash that stands for a person. */
  tokenFor(subject: string): string;
  sign<Receipt extends object>(receipt: Receipt): Receipt & { readonly signature: string };
}

const LEAST_KEY_BYTES = 32;
/** The ASN.1 around the 32 bytes of an Ed25519 key. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** One secret, two independent keys: one hides the person's id, one signs. */
export function erasureKeys(secret: string | Uint8Array): ErasureKeys {
  const bytes = typeof secret === "string" ? Buffer.from(secret, "utf8") : secret;
  if (!(bytes instanceof Uint8Array) || bytes.byteLength < LEAST_KEY_BYTES) {
    throw invalid(`key must be a secret of at least ${LEAST_KEY_BYTES} bytes that is kept apart from the data`);
  }
  const derived = (purpose: string): Buffer => Buffer.from(nodeCrypto().hkdfSync("sha256", bytes, "", purpose, 32));
  const pepper = derived("holdfast erasure subject");
  const seed = derived("holdfast erasure signature");
  const privateKey = nodeCrypto().createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
  return {
    publicKey: nodeCrypto().createPublicKey(privateKey).export({ format: "pem", type: "spki" }).toString(),
    tokenFor: (subject) => nodeCrypto().createHmac("sha256", pepper).update(bytesOf(subject)).digest("base64url"),
    sign: (receipt) => {
      const signature = nodeCrypto().sign(null, signedBytes(receipt), privateKey).toString("base64url");
      return { ...receipt, signature };
    },
  };
}

/**
 * Of every text its own. UTF-8 has one sign for every half of a pair, so that erasing
 * one such person would erase another; no text in UTF-8 begins with this byte.
 */
const bytesOf = (subject: string): Buffer =>
  subject.isWellFormed()
    ? Buffer.from(subject, "utf8")
    : Buffer.concat([Buffer.from([0xff]), Buffer.from(subject, "utf16le")]);

const signedBytes = (receipt: object): Buffer => Buffer.from(canonicalJson(receipt), "utf8");

export const hashOfEntry = (entry: object): string =>
  nodeCrypto().createHash("sha256").update(canonicalJson(entry)).digest("base64url");

export const hashOfReceipt = (receipt: ChainedReceipt): string => hashOfEntry(receipt);

/** What is wrong with a sequence of receipts; `undefined` if nothing is. */
export function faultInReceipts(
  receipts: readonly ChainedReceipt[],
  publicKey: string | KeyObject,
): string | undefined {
  const key = typeof publicKey === "string" ? nodeCrypto().createPublicKey(publicKey) : publicKey;
  let before: ChainedReceipt | undefined;
  for (const receipt of receipts) {
    const { signature, ...signed } = receipt;
    const which = `receipt ${String(receipt.number)}`;
    if (!isSigned(signed, signature, key)) return `${which} is not as it was signed`;
    if (receipt.number === 1 && receipt.previous !== null) return `${which} does not begin the chain`;
    if (before !== undefined && receipt.number !== before.number + 1)
      return `${which} does not follow ${before.number}`;
    if (before !== undefined && receipt.previous !== hashOfReceipt(before)) {
      return `${which} was not made after receipt ${before.number} as it is here`;
    }
    before = receipt;
  }
  return undefined;
}

function isSigned(signed: object, signature: unknown, key: KeyObject): boolean {
  if (typeof signature !== "string") return false;
  const bytes = Buffer.from(signature, "base64url");
  // The last character has unused bits: only one encoding of them is accepted.
  return bytes.toString("base64url") === signature && nodeCrypto().verify(null, signedBytes(signed), key, bytes);
}
