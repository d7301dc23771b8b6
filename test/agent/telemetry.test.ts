import { describe, expect, test } from "vitest";
import { NO_TELEMETRY, openTelemetry, type Telemetry } from "../../src/agent/telemetry/telemetry.ts";

interface FakeSpan {
  readonly name: string;
  readonly attributes: object;
  readonly happened: string[];
}

/** OpenTelemetry's API as an application would have set it up, noting what it is told. */
function fakeApi(fault: "none" | "start" | "end" | "record" | "count" = "none", recordsContent = false) {
  const spans: FakeSpan[] = [];
  const counts: unknown[] = [];
  const fail = (when: typeof fault): void => {
    if (fault === when) throw new Error(`the exporter is broken (${when})`);
  };
  const api = {
    trace: {
      getTracer: () => ({
        startActiveSpan: <T>(name: string, { attributes }: { attributes: object }, work: (span: never) => T): T => {
          fail("start");
          const span: FakeSpan = { name, attributes, happened: [] };
          spans.push(span);
          return work({
            setAttributes: (noted: object) => void span.happened.push(JSON.stringify(noted)),
            recordException: ({ message }: Error) => {
              fail("record");
              span.happened.push(`exception ${message}`);
            },
            setStatus: ({ code }: { code: number }) => void span.happened.push(`status ${code}`),
            end: () => {
              fail("end");
              span.happened.push("end");
            },
          } as never);
        },
      }),
    },
    metrics: {
      getMeter: () => ({
        createHistogram: (name: string) => ({
          record: (value: number, attributes?: object) => {
            fail("count");
            counts.push([name, value, attributes]);
          },
        }),
        createCounter: (name: string) => ({
          add: (value: number, attributes?: object) => {
            fail("count");
            counts.push([name, value, attributes]);
          },
        }),
      }),
    },
  };
  return { telemetry: openTelemetry(api, recordsContent) as Telemetry, spans, counts };
}

describe("with OpenTelemetry", () => {
  test("work runs inside a span with its name and attributes, which ends", async () => {
    const { telemetry, spans } = fakeApi();
    expect(await telemetry.span({ name: "tool", attributes: { a: 1 } }, async () => 42)).toBe(42);
    expect(spans).toEqual([{ name: "tool", attributes: { a: 1 }, happened: ["end"] }]);
  });

  test("work that fails marks its span, and its error is the one that comes out", async () => {
    const { telemetry, spans } = fakeApi();
    const failing = telemetry.span({ name: "model", attributes: {} }, async () =>
      Promise.reject(new Error("overloaded")),
    );
    await expect(failing).rejects.toThrow("overloaded");
    expect(spans[0]?.happened).toEqual(['{"error.type":"Error"}', "status 2", "end"]);
  });

  test("the message of an error is told where content is recorded", async () => {
    const { telemetry, spans } = fakeApi("none", true);
    const failing = telemetry.span({ name: "model", attributes: {} }, async () =>
      Promise.reject(new Error("overloaded")),
    );
    await expect(failing).rejects.toThrow("overloaded");
    expect(spans[0]?.happened).toContain("exception overloaded");
  });

  test("a code that is a sentence is not told: it may be what was said", async () => {
    const { telemetry, spans } = fakeApi();
    const error = Object.assign(new Error("no"), { code: "card 4111 of ada@example.com", name: "Declined" });
    await expect(telemetry.span({ name: "tool", attributes: {} }, () => Promise.reject(error))).rejects.toThrow("no");
    expect(spans[0]?.happened[0]).toBe('{"error.type":"Declined"}');
  });

  test("counts are added, and values recorded, with their attributes", () => {
    const { telemetry, counts } = fakeApi();
    telemetry.count("runs", 1, { "holdfast.stop_reason": "complete" });
    expect(counts).toEqual([["runs", 1, { "holdfast.stop_reason": "complete" }]]);
  });

  describe("that is broken", () => {
    test.each(["start", "end"] as const)("(%s), the work is done once and its result comes out", async (fault) => {
      let ran = 0;
      expect(await fakeApi(fault).telemetry.span({ name: "run", attributes: {} }, async () => ++ran)).toBe(1);
      expect(ran).toBe(1);
    });

    test.each(["record", "end"] as const)("(%s), the work's own error comes out", async (fault) => {
      const failing = fakeApi(fault, true).telemetry.span({ name: "run", attributes: {} }, async () =>
        Promise.reject(new Error("overloaded")),
      );
      await expect(failing).rejects.toThrow("overloaded");
    });

    test("(count), counting does nothing", () => {
      expect(() => fakeApi("count").telemetry.count("runs", 1)).not.toThrow();
    });
  });
});

test("without OpenTelemetry, work is just done", async () => {
  expect(await NO_TELEMETRY.span({ name: "run", attributes: {} }, async () => 42)).toBe(42);
  expect(() => NO_TELEMETRY.count("runs", 1)).not.toThrow();
});
