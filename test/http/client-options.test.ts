import { expect, test } from "vitest";
import { openUrl } from "../../src/backends/http/checkpointer.ts";
import { HTTPCheckpointer } from "../../src/backends/http/index.ts";

test("the client refuses a misspelt option, an invalid address and a token in the address", () => {
  const make = (options: object) => () => new HTTPCheckpointer(options as { baseUrl: string });
  expect(make({ baseUrl: "http://h", tokn: "x" })).toThrow(/no option "tokn"/);
  for (const baseUrl of ["", "h", "ftp://h", "http://h?x=1", "http://h#x", undefined]) {
    expect(make({ baseUrl })).toThrow(/baseUrl/);
  }
  expect(make({ baseUrl: "http://:zebra@h" })).toThrow(/no credentials/);
  expect(make({ baseUrl: "http://:zebra@h" })).not.toThrow(/zebra/);
  expect(make({ baseUrl: "http://h", token: "a b" })).toThrow(/token/);
  // A timer that is set for longer than 2^31 - 1 ms fires at once.
  for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    expect(make({ baseUrl: "http://h", timeoutMs })).toThrow(/timeoutMs must be .* at most 2147483647/);
  }
  expect(() => openUrl("https://h/?token=zebra")).toThrow(/unknown parameter/);
  expect(() => openUrl("https://h/?token=zebra")).not.toThrow(/zebra/);
  expect(() => openUrl("https://zebra@h/")).toThrow(/behind a colon/);
  expect(() => openUrl("https://:%zz@h/")).toThrow(/baseUrl/);
  expect(() => openUrl("https://")).toThrow(/baseUrl/);
});

test.each([
  [{ "x-a": "Z\u00fcrich \u2192 Basel" }, /headers\["x-a"\]: its value has .* no header can hold/],
  [{ "x-a": "a\r\nauthorization: b" }, /headers\["x-a"\]: its value has a line break/],
  [{ "x a": "b" }, /headers\["x a"\]: the name of a header has/],
  [{ "x-a": 1 }, /headers\["x-a"\]: its value must be a string, not number/],
  [{ "x-a": undefined }, /headers\["x-a"\]: its value must be a string, not undefined/],
  [{ "Content-Length": "3" }, /headers\["Content-Length"\]: the client sets this header itself/],
  [{ "transfer-encoding": "chunked" }, /the client sets this header itself/],
  [new Headers({ "x-a": "b" }), /headers must be an object of names and values/],
  [["x-a", "b"], /headers must be an object of names and values/],
  [null, /headers must be an object, not null/],
])(
  "the client refuses headers that cannot be sent when it is made, and not as a service that is away: %j",
  (headers, says) => {
    const make = () => new HTTPCheckpointer({ baseUrl: "http://h", headers: headers as never });
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringMatching(says) }));
  },
);
