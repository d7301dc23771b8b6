import { StateError } from "../../errors.ts";
import type { RunEvent } from "../events.ts";
import { SAVE_DURATION } from "./gen-ai.ts";

/** The part of OpenTelemetry's API that is used, so that it need not be installed. */
interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): {
      startActiveSpan<T>(name: string, options: { kind: number; attributes: Attributes }, work: (span: Span) => T): T;
    };
  };
  readonly metrics: {
    getMeter(name: string): {
      createCounter(name: string, options?: MetricOptions): { add(value: number, attributes?: Attributes): void };
      createHistogram(name: string, options?: MetricOptions): { record(value: number, attributes?: Attributes): void };
    };
  };
}

export type Attributes = Readonly<Record<string, string | number | boolean | string[]>>;

interface MetricOptions {
  readonly unit?: string;
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

interface Span {
  setAttributes(attributes: Attributes): void;
  recordException(error: Error): void;
  setStatus(status: { code: number; message?: string }): void;
  end(): void;
}

export interface SpanStart {
  readonly name: string;
  /** Whether it describes a call to another system. */
  readonly isCall?: boolean;
  readonly attributes: Attributes;
}

/** What work notes on its own span. */
interface SpanNotes {
  set(attributes: Attributes): void;
  /** It ended, but not well. `type` is one of a few words. */
  fail(type: string): void;
}

export interface Histogram {
  readonly name: string;
  readonly unit: string;
  readonly boundaries?: readonly number[];
}

export interface Telemetry {
  /** Whether spans hold what was said: prompts, answers, arguments, results, the words of errors. */
  readonly recordsContent: boolean;
  /** Runs `work` inside a span. What telemetry itself does wrong never reaches the run. */
  span<T>(span: SpanStart, work: (notes: SpanNotes) => Promise<T>): Promise<T>;
  count(name: string, value: number, attributes?: Attributes): void;
  record(histogram: Histogram, value: number, attributes?: Attributes): void;
  /** Milliseconds, for durations. */
  readonly clock: () => number;
}

const NO_NOTES: SpanNotes = { set: () => undefined, fail: () => undefined };

export const NO_TELEMETRY: Telemetry = {
  recordsContent: false,
  span: (_span, work) => work(NO_NOTES),
  count: () => undefined,
  record: () => undefined,
  clock: () => 0,
};

const ERROR_STATUS = 2;
const INTERNAL = 0;
const CLIENT = 2;

/** Looked for once: an agent may be made for every request. */
let api: Promise<OpenTelemetryApi | undefined> | undefined;

/** Spans and metrics through `@opentelemetry/api` when it is installed; nothing when it is not. */
export async function loadTelemetry(recordsContent: boolean): Promise<Telemetry> {
  // A variable, so that a type check does not need a package that most users do not have.
  const name = "@opentelemetry/api";
  api ??= import(name).catch(() => undefined) as Promise<OpenTelemetryApi | undefined>;
  const found = await api;
  if (found === undefined) return NO_TELEMETRY;
  try {
    return openTelemetry(found, recordsContent);
  } catch {
    return NO_TELEMETRY;
  }
}

export function openTelemetry({ trace, metrics }: OpenTelemetryApi, recordsContent = false): Telemetry {
  const tracer = trace.getTracer("holdfast");
  const meter = metrics.getMeter("holdfast");
  return {
    recordsContent,
    span: async ({ name, isCall = false, attributes }, work) => {
      // Begun once, whatever the exporter does: it may call back, or fail before or after that.
      let running: ReturnType<typeof work> | undefined;
      const begin = (notes: SpanNotes): ReturnType<typeof work> => {
        running ??= work(notes);
        return running;
      };
      const options = { kind: isCall ? CLIENT : INTERNAL, attributes };
      quietly(
        () => void tracer.startActiveSpan(name, options, (span) => endWith(span, begin(notesOn(span)), recordsContent)),
      );
      return begin(NO_NOTES);
    },
    count: (name, value, attributes) => quietly(() => meter.createCounter(name).add(value, attributes)),
    record: ({ name, unit, boundaries }, value, attributes) =>
      quietly(() => {
        const advice = boundaries === undefined ? {} : { advice: { explicitBucketBoundaries: [...boundaries] } };
        meter.createHistogram(name, { unit, ...advice }).record(value, attributes);
      }),
    clock: () => performance.now(),
  };
}

const notesOn = (span: Span): SpanNotes => ({
  set: (attributes) => quietly(() => span.setAttributes(attributes)),
  fail: (type) =>
    quietly(() => {
      span.setAttributes({ "error.type": type });
      span.setStatus({ code: ERROR_STATUS, message: type });
    }),
});

/**
 * Ends the span when the work ends. The work's own failure is reported to its caller. The message and the stack of an
 * error quote prompts and arguments, so they are content.
 */
async function endWith(span: Span, work: Promise<unknown>, recordsContent: boolean): Promise<void> {
  try {
    await work;
  } catch (error) {
    quietly(() => {
      if (recordsContent && error instanceof Error) span.recordException(error);
      span.setAttributes({ "error.type": errorType(error) });
      span.setStatus({ code: ERROR_STATUS });
    });
  }
  quietly(() => span.end());
}

/** A code or the name of a class. Any other text may be what was said. */
const ERROR_WORD = /^[\w.:-]{1,80}$/;

/** One of a few words: our code where there is one, else the error's class. */
export function errorType(error: unknown): string {
  const { code, name } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    name?: unknown;
  };
  return [code, name].find((word): word is string => typeof word === "string" && ERROR_WORD.test(word)) ?? "_OTHER";
}

function quietly(report: () => void): void {
  try {
    report();
  } catch {
    // A metric that cannot be written must not cost anything else.
  }
}

/** One attempt at a save: how long it took, and what came of it. */
export type MeasureSave = (ms: number, error: unknown) => void;

export const savesIn =
  (telemetry: Telemetry): MeasureSave =>
  (ms, error) => {
    const outcome = error === undefined ? {} : { "error.type": errorType(error) };
    telemetry.count("holdfast.saves", 1, outcome);
    telemetry.record(SAVE_DURATION, ms / 1000, outcome);
    if (StateError.is(error, "CONFLICT")) telemetry.count("holdfast.conflicts", 1);
  };

/** Counts retries of a model, a tool or a save. */
export function countRetries(telemetry: Telemetry, event: RunEvent): void {
  if (event.type === "model-retry") telemetry.count("holdfast.retries", 1, { "holdfast.retried": "model" });
  if (event.type === "tool-retry") telemetry.count("holdfast.retries", 1, { "holdfast.retried": "tool" });
}
