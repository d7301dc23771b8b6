import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode, StateError } from "./errors.ts";

describe("a StateError", () => {
  const cause = new Error("below");
  const error = new StateError("CONFLICT", "moved on", { threadId: "t", expected: "a", actual: null, cause });

  test("is an Error with a code, a context and a cause", () => {
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe("StateError");
    expect(error.code).toBe("CONFLICT");
    expect(error.cause).toBe(cause);
    expect(error.context).toEqual({ threadId: "t", expected: "a", actual: null });
    expect(Object.isFrozen(error.context)).toBe(true);
  });

  test("has no cause unless one was given", () => {
    expect(Object.hasOwn(new StateError("CLOSED", "m"), "cause")).toBe(false);
  });

  test("prints without its brand", () => {
    expect(inspect(error)).not.toContain("holdfast.StateError");
    expect(Object.keys(error)).not.toContain("cause");
  });
});

describe("StateError.is", () => {
  test("tells by code", () => {
    const error = new StateError("CLOSED", "m");
    expect(StateError.is(error)).toBe(true);
    expect(StateError.is(error, "CLOSED")).toBe(true);
    expect(StateError.is(error, "TIMEOUT")).toBe(false);
  });

  test("knows an error of another installed copy, which is another class", () => {
    const foreign = Object.assign(new Error("m"), { code: "CLOSED" });
    Object.defineProperty(foreign, Symbol.for("holdfast.StateError"), { value: true });
    expect(foreign instanceof StateError).toBe(false);
    expect(StateError.is(foreign, "CLOSED")).toBe(true);
  });

  test.each([undefined, null, "CLOSED", new Error("m"), { code: "CLOSED" }])("is false for %o", (other) => {
    expect(StateError.is(other)).toBe(false);
  });
});

test("only what may pass by itself is retryable", () => {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  expect(codes.filter((code) => new StateError(code, "m").retryable)).toEqual([
    "RATE_LIMITED",
    "TIMEOUT",
    "UNAVAILABLE",
  ]);
});
