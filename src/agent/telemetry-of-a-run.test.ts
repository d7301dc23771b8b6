import { expect, test, vi } from "vitest";
import { agentOf } from "../../test/agent/agent-of.ts";
import { scriptedModel } from "../testing/models/scripted-model.ts";
import { tool } from "./tool.ts";

const spans: string[] = [];
const counts: unknown[] = [];
const open: string[] = [];

/** The package is optional and not installed here: this stands for an application that has it. */
vi.doMock("@opentelemetry/api", () => ({
  trace: {
    getTracer: () => ({
      startActiveSpan: <T>(name: string, { attributes }: { attributes: object }, work: (span: object) => T): T => {
        spans.push(`${[...open, name].join(" > ")} ${JSON.stringify(attributes)}`);
        open.push(name);
        const end = (): void => void open.splice(open.lastIndexOf(name), 1);
        return work({ end, setStatus: () => undefined, recordException: () => undefined });
      },
    }),
  },
  metrics: {
    getMeter: () => ({
      createCounter: (name: string) => ({
        add: (value: number, attributes: object) => counts.push([name, value, attributes]),
      }),
    }),
  },
}));

test("a run, its questions to the model and its tools are spans; its end is counted", async () => {
  const work = tool({ name: "work", execute: () => "done" });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"], { id: "test:model" });
  await agentOf({ model, tools: [work] }).run("go");
  const told = spans.map((span) => span.replace(/"holdfast.run":"[^"]+"/, '"holdfast.run":"…"'));
  expect(told).toEqual([
    'holdfast.run {"holdfast.run":"…"}',
    'holdfast.run > holdfast.model {"holdfast.model":"test:model"}',
    'holdfast.run > holdfast.tool {"holdfast.tool":"work"}',
    'holdfast.run > holdfast.model {"holdfast.model":"test:model"}',
  ]);
  expect(open).toEqual([]);
  expect(counts).toEqual([["holdfast.runs", 1, { "holdfast.stop_reason": "complete" }]]);
});
