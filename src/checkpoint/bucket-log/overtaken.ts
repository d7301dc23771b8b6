import { StateError } from "../../errors.ts";
import { damaged } from "./stored-object.ts";
import { type FoundDocument, MissingPart } from "./thread-store.ts";

/** Returned by an attempt that was overtaken and must be repeated on the newest document. */
export const OVERTAKEN: unique symbol = Symbol("holdfast.bucket-log.overtaken");

const MOST_ATTEMPTS = 100;

/**
 * Works on the newest document until it is not overtaken. A missing part is
 * damage only if the document still refers to it.
 */
export async function untilNotOvertaken<T>(
  load: () => Promise<FoundDocument>,
  work: (found: FoundDocument) => Promise<T | typeof OVERTAKEN>,
): Promise<T> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const found = await load();
    try {
      const result = await work(found);
      if (result !== OVERTAKEN) return result;
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error;
      const now = await load();
      if (now.document?.revision === found.document?.revision) throw damaged(error.part, "is missing");
    }
  }
  const message = `the thread did not hold still in ${MOST_ATTEMPTS} attempts: other processes change it all the time`;
  throw new StateError("UNAVAILABLE", message);
}
