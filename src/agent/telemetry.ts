/** The part of OpenTelemetry's API that is used, so that nobody has to install it. */
interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): {
      startActiveSpan<T>(name: string, options: { attributes: Attributes }, work: (span: Span) => T): T;
    };
  };
  readonly metrics: {
    getMeter(name: string): { createCounter(name: string): { add(value: number, attributes?: Attributes): void } };
  };
}

type Attributes = Readonly<Record<string, string | number | boolean>>;

interface Span {
  recordException(error: Error): void;
  setStatus(status: { code: number; message?: string }): void;
  end(): void;
}

export interface Telemetry {
  /** Runs `work` inside a span `holdfast.<name>`. What telemetry itself does wrong never reaches the run. */
  span<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  count(name: string, value: number, attributes?: Attributes): void;
}

export const NO_TELEMETRY: Telemetry = { span: (_name, _attributes, work) => work(), count: () => undefined };

const ERROR_STATUS = 2;

/** Spans and counters through `@opentelemetry/api` when it is installed; nothing when it is not. */
export async function loadTelemetry(): Promise<Telemetry> {
  // A variable, so that a type check does not need a package that most users do not have.
  const name = "@opentelemetry/api";
  try {
    return openTelemetry((await import(name)) as OpenTelemetryApi);
  } catch {
    return NO_TELEMETRY;
  }
}

export function openTelemetry({ trace, metrics }: OpenTelemetryApi): Telemetry {
  const tracer = trace.getTracer("holdfast");
  const meter = metrics.getMeter("holdfast");
  return {
    span: async <T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> => {
      // Begun once, whatever the exporter does: it may call back, or fail before or after that.
      let running: Promise<T> | undefined;
      const begin = (): Promise<T> => {
        running ??= work();
        return running;
      };
      quietly(() => void tracer.startActiveSpan(`holdfast.${name}`, { attributes }, (span) => endWith(span, begin())));
      return begin();
    },
    count: (name, value, attributes) => quietly(() => meter.createCounter(`holdfast.${name}`).add(value, attributes)),
  };
}

/** Ends the span when the work ends. The work's own failure is reported by whoever waits for it. */
async function endWith(span: Span, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    quietly(() => {
      if (error instanceof Error) span.recordException(error);
      span.setStatus({ code: ERROR_STATUS });
    });
  }
  quietly(() => span.end());
}

function quietly(report: () => void): void {
  try {
    report();
  } catch {
    // A metric that cannot be written must not cost anything else.
  }
}
