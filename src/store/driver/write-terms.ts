import { assertWriteId, newId } from "../../driver/ids.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { encodeId } from "./namespaces.ts";
import type { ItemId, PutChange } from "./store-driver.ts";

/** What a write makes of an item, as far as its caller said it: a vector that an embedder makes may differ when it is made again. */
export interface WrittenContent {
  readonly value: string;
  readonly metadata: string | undefined;
  readonly ttlMs: PutChange["ttlMs"];
  readonly index: unknown;
  readonly embedding: Float32Array | undefined;
}

/**
 * What names a write and what it leaves. The write id alone names it; the digest tells two writes apart that have the same
 * id, as two copies of one virtual machine give, which go on with the same random numbers.
 */
export function writeTerms(
  id: ItemId,
  writeId: string | undefined,
  content: WrittenContent | "removed",
): Pick<PutChange, "writeKey" | "digest" | "version"> {
  if (writeId !== undefined) assertWriteId(writeId);
  // The id alone would not do: a list of puts may share it.
  const name = `${encodeId(id)}\u001f${writeId ?? newId()}`;
  // Behind the name, of which only a hash is stored: the digest does not tell whether a guess at the content is right.
  const digest = content === "removed" ? hash(name, content) : hash(name, ...partsOf(content));
  return { writeKey: hash(name), digest, version: hash(newId(), digest) };
}

function partsOf({ value, metadata, ttlMs, index, embedding }: WrittenContent): readonly (string | Uint8Array)[] {
  const rest = JSON.stringify([value.length, metadata ?? null, ttlMs ?? null, index ?? null]);
  const bytes = embedding && new Uint8Array(embedding.buffer, embedding.byteOffset, embedding.byteLength);
  return [rest, value, ...(bytes === undefined ? [] : [bytes])];
}

function hash(...parts: readonly (string | Uint8Array)[]): string {
  const made = nodeCrypto().createHash("sha256");
  for (const part of parts) made.update(part).update("\u001f");
  return made.digest("base64url").slice(0, 24);
}
