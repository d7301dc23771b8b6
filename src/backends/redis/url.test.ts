import { expect, test } from "vitest";
import { openUrl } from "./checkpointer.ts";
import { parseUrl } from "./url.ts";

test("a URL holds the address and the credentials", () => {
  expect(parseUrl("redis://localhost").place).toEqual({
    host: "localhost",
    port: 6379,
    username: undefined,
    password: undefined,
    database: 0,
    tls: false,
  });
  expect(parseUrl("rediss://al%40ice:p%2Fw%3A%40@cache.example:6380/3").place).toEqual({
    host: "cache.example",
    port: 6380,
    username: "al@ice",
    password: "p/w:@",
    database: 3,
    tls: true,
  });
  expect(parseUrl("redis://[::1]:7000/").place).toMatchObject({ host: "::1", port: 7000, database: 0 });
});

test("Valkey's schemes mean the same", () => {
  expect(parseUrl("valkey://h").place).toMatchObject({ host: "h", tls: false });
  expect(parseUrl("valkeys://h").place).toMatchObject({ host: "h", tls: true });
});

test("an invalid URL is refused without showing its password", () => {
  const wrong = ["redis:", "http://h", "redis://h/db", "redis://h/1/2", "redis://u:p%zz@h", "redis://u:canary@h:99999"];
  for (const url of wrong) {
    expect(() => parseUrl(url), url).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(() => parseUrl(url), url).not.toThrow("canary");
  }
});

test("prefix and ttlSeconds may follow; anything else is refused by name", () => {
  expect(openUrl("redis://h?prefix=bot:&ttlSeconds=60").capabilities.ttl).toBe(true);
  expect(() => openUrl("redis://h?ttlSeconds=soon")).toThrow(/ttlSeconds must be a number/);
  expect(() => openUrl("redis://h?family=6")).toThrow(/unknown parameter "family"; known: prefix, ttlSeconds/);
});
