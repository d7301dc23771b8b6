import assert from "node:assert/strict";
import { type ErrorCode, StateError } from "../errors.ts";

/** The StateError of that code that `call` ends with; anything else fails the case. A throw counts like a rejection. */
export async function failsWith(code: ErrorCode, call: () => unknown, what: string): Promise<StateError> {
  const failure = await failureOf(call, what);
  if (!StateError.is(failure))
    throw new assert.AssertionError({ message: `${what}: expected ${code}, got ${failure}` });
  assert.equal(failure.code, code, `${what}: expected ${code}, got ${failure.code}: ${failure.message}`);
  return failure;
}

/** The error that `call` ends with. */
export async function failureOf(call: () => unknown, what: string): Promise<unknown> {
  let answer: unknown;
  try {
    answer = await call();
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: `${what}: expected a failure, got ${shown(answer)}` });
}

const shown = (answer: unknown): string => (typeof answer === "object" ? JSON.stringify(answer) : String(answer));
