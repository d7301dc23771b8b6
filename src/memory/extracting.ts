import { StateError } from "../errors.ts";
import { untilAborted, withDeadline } from "../internal/time.ts";
import type { Extractor, ExtractRequest } from "./extractor.ts";

/**
 * What an extractor found, within its time. It may be any function: one that never answers, or gives no list, has
 * failed.
 */
export async function extracted(
  extractor: Extractor,
  request: ExtractRequest,
  timeoutMs: number,
): Promise<readonly unknown[]> {
  const ask = async (signal: AbortSignal): Promise<unknown> => extractor.extract({ ...request, signal });
  const answer = withDeadline(timeoutMs, request.signal, (signal) => untilAborted(ask(signal), signal));
  const found = await answer.catch((error: unknown) => {
    const isLate = error instanceof DOMException && error.name === "TimeoutError" && !request.signal.aborted;
    throw isLate ? failed(`no answer within ${timeoutMs} ms`, error) : error;
  });
  if (Array.isArray(found)) return found;
  throw failed("it gave no list");
}

const failed = (reason: string, cause?: unknown): StateError =>
  new StateError("MODEL_FAILED", `the extractor failed: ${reason}`, { cause });
