import { StateError } from "../src/errors.ts";

/** The StateError that `work` fails with. Success, or any other kind of error, fails the test. */
export async function failureOf(work: () => unknown): Promise<StateError> {
  let outcome: unknown;
  try {
    outcome = await work();
  } catch (error) {
    if (StateError.is(error)) return error;
    throw error;
  }
  throw new Error(`a StateError was due, but it returned ${String(outcome)}`);
}
