import type { AppendRequest } from "../../checkpoint/log/thread-log.ts";
import { ERASURE_MARK } from "../../checkpoint/people/erasure-mark.ts";
import { HOLDS } from "../../state/people/legal-hold.ts";
import type { Change } from "../../store/driver/store-driver.ts";

/**
 * What is written although a server is full: without it, nothing could be taken out. These are small, and there is one for
 * each lease, hold or erasure; more of it than this is refused like anything else.
 */
export const BOOKKEEPING_BYTES = 4096;

const OWN: readonly string[] = [ERASURE_MARK.threadId, HOLDS];

/** A record that holds no state ({}), such as a lease, and the package's own threads, also those of a tenant. */
export const isBookkeeping = (threadId: string, { record, more = [] }: AppendRequest): boolean =>
  OWN.some((own) => threadId === own || threadId.endsWith(`/${own}`)) ||
  [record, ...more].every(
    ({ checkpointId, names, body }) => checkpointId === undefined && names === undefined && body.byteLength <= 2,
  );

/**
 * The ledger of erasures and their marks; the items that an erasure rewrites, which it makes together with a look at the
 * holds; and holds.
 */
export const isBookkeepingOfItems = (changes: readonly Change[]): boolean =>
  changes.some(({ namespace }) => namespace.includes(HOLDS)) ||
  changes.every(({ kind, namespace }) => kind === "remove" || namespace.includes(ERASURE_MARK.threadId));
