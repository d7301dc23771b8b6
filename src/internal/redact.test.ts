import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { redact, redactCause } from "./redact.ts";

describe("a password in a connection string is hidden", () => {
  const passwords: readonly [what: string, password: string][] = [
    ["plain", "zebra7"],
    ["with an @", "zebra@quokka"],
    ["with a colon", "zebra:quokka"],
    ["with a slash", "zebra/quokka"],
    ["with a percent sign", "zebra%quokka"],
    ["percent-encoded", "zebra%40quokka"],
    ["with a space", "zebra quokka"],
    ["with a question mark and a hash", "zebra?quokka#lemur"],
    ["with everything", "zebra@quokka:lemur/okapi%ibex gnu"],
  ];
  const shapes: readonly ((password: string) => string)[] = [
    (password) => `connect failed: postgres://app:${password}@db.internal:5432/agents`,
    (password) => `redis://:${password}@cache:6379/0 refused`,
    (password) => `could not parse "mysql+ssl://root:${password}@h/db?x=1"`,
  ];
  test.each(passwords)("%s", (_, password) => {
    for (const shape of shapes) {
      const clean = redact(shape(password));
      for (const part of password.split(/[^a-z0-9]+/i)) expect(clean).not.toContain(part);
      expect(clean).toContain("***");
    }
  });

  test("the rest of the message stays readable", () => {
    expect(redact("connect to postgres://app:hunter2@db:5432/agents failed: ECONNREFUSED")).toBe(
      "connect to postgres://app:***@db:5432/agents failed: ECONNREFUSED",
    );
  });
});

describe("a secret with a name is hidden", () => {
  const texts: readonly string[] = [
    "password=s3cr3t",
    "Password: s3cr3t",
    '{"password":"s3cr3t"}',
    '{"password":"s3cr3t with spaces"}',
    "PGPASSWORD=s3cr3t psql",
    "db_password=s3cr3t",
    "pwd='s3cr3t'",
    "client_secret=s3cr3t&grant=x",
    "AWS_SECRET_ACCESS_KEY=s3cr3t",
    "access_token=s3cr3t",
    "x-api-key: s3cr3t",
    "api_key=s3cr3t;",
    "apiKey: 's3cr3t'",
    "wallet_password=s3cr3t",
    "refreshToken=s3cr3t",
    "Authorization: Bearer s3cr3t-s3cr3t",
    "authorization: basic czNjcjN0OnMzY3IzdA==",
    'headers: { authorization: "Bearer s3cr3t.s3cr3t.s3cr3t" }',
    "Authorization: Bearer s3",
  ];
  test.each(texts)("%s", (text) => {
    const clean = redact(text);
    for (const part of ["s3", "czNj", "with spaces"]) expect(clean).not.toContain(part);
    expect(clean).toContain("***");
  });

  test("words that only sound like it stay", () => {
    for (const text of [
      "password authentication failed for user app",
      "no token found",
      "basic auth",
      "the key is missing",
    ]) {
      expect(redact(text)).toBe(text);
    }
  });
});

describe("secrets that are known are hidden wherever they are", () => {
  test("in the middle of anything, several times, with characters that mean something to patterns", () => {
    expect(redact("a$&b(c)*d in x$&b(c)*y", ["$&b(c)*"])).toBe("a***d in x***y");
  });

  test("one that is part of another does not leave the rest of it behind", () => {
    expect(redact("the key is abcdef", ["abc", "abcdef"])).toBe("the key is ***");
  });

  test("an empty one hides nothing", () => {
    expect(redact("text", [""])).toBe("text");
  });
});

describe("a cause", () => {
  const clientError = (): Error =>
    Object.assign(new Error("ECONNREFUSED redis://:hunter2@cache", { cause: new Error("hunter2") }), {
      code: "ECONNREFUSED",
      config: { password: "hunter2" },
      request: { headers: { authorization: "Bearer hunter2" } },
    });

  test("keeps its name, its code and a clean message, and loses everything else", () => {
    const clean = redactCause(clientError()) as Error & { code?: unknown };
    expect([clean.name, clean.code, clean.message]).toEqual([
      "Error",
      "ECONNREFUSED",
      "ECONNREFUSED redis://:***@cache",
    ]);
    expect(inspect(clean, { depth: 9, showHidden: true })).not.toContain("hunter2");
  });

  test("is a copy: the client's own error is left alone", () => {
    const error = clientError();
    expect(redactCause(error)).not.toBe(error);
    expect(error.message).toContain("hunter2");
  });

  test("that is text is cleaned, and anything else is dropped", () => {
    expect(redactCause("password=hunter2")).toBe("password=***");
    expect(redactCause({ password: "hunter2" })).toBeUndefined();
    expect(redactCause(null)).toBeUndefined();
  });
});
