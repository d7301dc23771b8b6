import { StateError } from "../../errors.ts";
import { pathTo } from "./path.ts";

/**
 * Bytes cannot be frozen. A save writes only what is new, so bytes that were changed in
 * place after they were written would differ between memory and store unnoticed. Their
 * checksums are taken when they are written or read, and later saves check them again.
 */
export interface WatchedBytes {
  readonly leaves: readonly { readonly bytes: Uint8Array; readonly sum: number }[];
  /** The leaf to check next. */
  readonly next: number;
}

/**
 * How much one save checks: its cost must not grow with the thread. If there is
 * more, each save checks the next part.
 */
const BYTES_PER_LOOK = 4 * 1024 * 1024;

let checksum: ((bytes: Uint8Array) => number) | undefined;

/** Loaded on first use: few states hold bytes, and importing the package must not load all of `node:zlib`. */
function crc32(bytes: Uint8Array): number {
  checksum ??= process.getBuiltinModule("node:zlib").crc32;
  return checksum(bytes);
}

export const NO_BYTES: WatchedBytes = { leaves: [], next: 0 };

export function watchBytes(before: WatchedBytes, added: readonly Uint8Array[]): WatchedBytes {
  if (added.length === 0) return before;
  const leaves = added.map((bytes) => ({ bytes, sum: crc32(bytes) }));
  return { ...before, leaves: [...before.leaves, ...leaves] };
}

/**
 * Refuses bytes that were changed; returns the checksums with the position of the next
 * check. `root` returns the state that holds them, for the path.
 */
export function assertUnchanged(watched: WatchedBytes, root: () => unknown): WatchedBytes {
  const { leaves } = watched;
  let [looked, next] = [0, watched.next];
  for (let count = 0; count < leaves.length && looked < BYTES_PER_LOOK; count++) {
    const leaf = leaves[next % leaves.length];
    next++;
    if (leaf === undefined) continue;
    if (crc32(leaf.bytes) !== leaf.sum) throw changedInPlace(leaf.bytes, root());
    looked += leaf.bytes.byteLength;
  }
  return leaves.length === 0 ? watched : { leaves, next: next % leaves.length };
}

function changedInPlace(bytes: Uint8Array, root: unknown): StateError {
  const path = pathTo(bytes, root, "state") ?? "state";
  return new StateError(
    "INVALID_ARGUMENT",
    `${path}: these bytes were changed in place after they were saved or loaded, and a state never changes. Load the state again, and hand a changed copy of the bytes to a with…() method`,
    { path },
  );
}
