import { describe, expect, test } from "vitest";
import { HOSTILE_IDS } from "../../testing/hostile-ids.ts";
import { checkedPrefix, isThreadName, Layout, namePrefix, newRandomName, pageName, threadName } from "./layout.ts";

const LONG = ["x".repeat(1024), `${"x".repeat(1023)}y`, "€".repeat(341), "🦉".repeat(256), "/".repeat(1024)];

describe("the names of threads", () => {
  const ids = [...new Set([...HOSTILE_IDS, ...LONG, "..", "%2e%2e", "%2E%2E", "~2E~2E", "~", "~~", "a/b", "a~2Fb"])];

  test("two ids never have one name, also where the case of letters does not count", () => {
    expect(new Set(ids.map(threadName)).size).toBe(ids.length);
  });

  test("are harmless in a path and in a query, and never a step upwards", () => {
    for (const id of ids) {
      const name = threadName(id);
      expect(name).toMatch(/^[A-Za-z0-9_~-]+$/);
      expect(isThreadName(name), name).toBe(true);
      expect(encodeURIComponent(name)).toBe(name);
      expect(name.length, "some services refuse 230 bytes").toBeLessThanOrEqual(200);
    }
  });

  test("leave room for the longest prefix and everything behind it in the 1024 bytes of a name", () => {
    const layout = new Layout(checkedPrefix("p".repeat(399)));
    for (const id of ids) {
      const longest =
        layout.life(threadName(id), newRandomName()) + pageName({ first: 2 ** 40, suffix: newRandomName() });
      expect(longest.length).toBeLessThanOrEqual(1024);
    }
  });

  test("begin with the name of every beginning of the id", () => {
    for (const id of ids) {
      for (let length = 0; length <= id.length; length += Math.max(1, Math.floor(id.length / 37))) {
        expect(threadName(id).startsWith(namePrefix(id.slice(0, length))), id.slice(0, 20)).toBe(true);
      }
    }
  });

  test("a plain id is itself", () => {
    expect(threadName("user-42_A")).toBe("user-42_A");
    expect(threadName("org/alice")).toBe("org~2Falice");
  });
});

describe("the prefix", () => {
  test.each([
    ["", ""],
    ["prod", "prod/"],
    ["prod/", "prod/"],
    ["a/b.c-d_e~f", "a/b.c-d_e~f/"],
  ])("%j is %j", (given, prefix) => expect(checkedPrefix(given)).toBe(prefix));

  test.each(["a//b", "/a", "a b", "a?b", "a#b", "a%2Fb", "é", "x".repeat(401)])("%j is refused", (prefix) => {
    expect(() => checkedPrefix(prefix)).toThrow('the option "prefix" takes letters');
  });
});
