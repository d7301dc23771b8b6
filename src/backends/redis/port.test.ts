import { describe, expect, test } from "vitest";
import { isAlive } from "./port.ts";

describe("whether a server is there", () => {
  test("a server that never answers is not alive", async () => {
    expect(await isAlive(() => new Promise(() => {}))).toBe(false);
  });

  test("a refusal is an answer", async () => {
    expect(await isAlive(() => Promise.reject(new Error("NOPERM no permission to run PING")))).toBe(true);
  });
});
