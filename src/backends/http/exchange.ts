/** One request, and its answer read to the end. */
export interface OutgoingRequest {
  /** Where the service is. */
  readonly base: URL;
  /** The path from the root of the host, with the query. */
  readonly path: string;
  readonly method: string;
  /** By names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | undefined;
}

/** What has arrived of an answer before its body. */
export interface AnswerHead {
  readonly status: number;
  /** The value of a header, by its name in small letters; `null` if it is not there. */
  readonly header: (name: string) => string | null;
}

export interface WholeAnswer extends AnswerHead {
  /** `undefined` if the body is longer than was allowed; then it was not read to the end. */
  readonly bytes: Buffer | undefined;
}

/**
 * Sends a request and reads the whole answer. Follows no redirect: that would send the
 * token, and a write, wherever it points. Never sends a request twice: only the caller
 * can tell whether a failed one may be repeated. `limitOf` says how many bytes of the
 * body are accepted; more are never held in memory. Fails with the signal's reason when
 * it aborts.
 */
export type Exchange = (
  request: OutgoingRequest,
  limitOf: (head: AnswerHead) => number,
  signal: AbortSignal,
) => Promise<WholeAnswer>;

/** By a `fetch`: the one that the user handed in, or that of a runtime other than Node. */
export const overFetch =
  (fetch: typeof globalThis.fetch): Exchange =>
  async ({ base, path, method, headers, body }, limitOf, signal) => {
    const url = `${base.origin}${path}`;
    const response = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: "manual",
      signal,
    });
    const head = headOf(response);
    return { ...head, bytes: await readUpTo(limitOf(head), response) };
  };

export const headOf = ({ status, headers }: Response): AnswerHead => ({ status, header: (name) => headers.get(name) });

async function readUpTo(limit: number, { body }: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
