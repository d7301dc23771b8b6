import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { openCheckpointer } from "../backends/open.ts";
import { assertAddress } from "./url.ts";

const SERVERS = ["postgres", "postgresql", "redis", "rediss", "opensearch", "opensearch+http", "https"];
const RAW = ["zebra?quokka", "zebra#quokka", "zebra/quokka", "zebra@x/quokka", "12?quokka", "12/quokka", "12#quokka"];
const RAW_AND_MORE = [...RAW, "12?a&quokka", "zebra%quokka", "zebra:1/quokka", "zebra@x?quokka"];

describe.each(SERVERS)("%s: a password with a raw", (scheme) => {
  test.each(RAW_AND_MORE)("%s is told how to be escaped, and nothing of it is shown", async (password) => {
    const user = scheme === "https" ? "" : "app";
    const failure = await failureOf(() => openCheckpointer(`${scheme}://${user}:${password}@host/x`));
    const shown = inspect(failure, { depth: 9, showHidden: true });
    expect(shown).not.toMatch(/zebra|quokka/);
    expect(failure.code).toBe("INVALID_ARGUMENT");
    expect(failure.message).toMatch(/%2F.*%3F.*%23|unknown parameter; known/);
  });
});

test.each(["https://h/?t=zebra", "redis://h?zebra@quokka", "postgres://h/d?zebra.quokka=1"])(
  "%s: what is behind an unknown parameter is not shown",
  async (url) => {
    const failure = await failureOf(() => openCheckpointer(url));
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toMatch(/zebra|quokka/);
  },
);

test("addresses that can be told apart are taken", () => {
  for (const url of [
    "postgres://localhost",
    "postgres://me@tenant:secret@host:5432/db?application_name=a@b",
    "postgres://host:5432/db?user=me@tenant",
    "postgres://app:p%2Fa%3Fb%23c%40d@[::1]:5432/db",
    "redis://:secret@host:6379/0",
    "opensearch://a:b@host:9200/index?namespace=x",
    "https://:token@state.example.com/base",
  ]) {
    expect(() => assertAddress(url), url).not.toThrow();
  }
});
