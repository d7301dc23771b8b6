import { type Measurement, STEPS } from "./checkpointers.ts";
import { medianRatio } from "./statistics.ts";
import { kilobytes, milliseconds, times } from "./table.ts";
import { MESSAGE_BYTES } from "./workload.ts";

export interface Verdict {
  readonly target: string;
  readonly limit: number;
  readonly measured: number;
  readonly shown: string;
  readonly met: boolean;
}

/** What the project promises of its SQLite backend, against what was measured in this run. */
export function judge(measurements: readonly Measurement[]): readonly Verdict[] {
  const named = (name: string): Measurement => {
    const found = measurements.find((measurement) => measurement.name === name);
    if (found === undefined) throw new Error(`${name} was not measured`);
    return found;
  };
  const ours = named("holdfast sqlite");
  const growth = medianRatio(ours.turnsMs[400], ours.turnsMs[10]);
  const messages = STEPS * MESSAGE_BYTES;
  return [
    verdict(
      `bytes on disk at most 2x the messages (${kilobytes(messages)})`,
      2,
      ours.bytes / messages,
      `${times(ours.bytes / messages)} (${kilobytes(ours.bytes)})`,
    ),
    verdict("a save at step 400 at most 1.2x one at step 10", 1.2, growth, times(growth)),
    verdict(
      `history of ${STEPS} listed in under 20 ms`,
      20,
      ours.historyMs ?? Number.POSITIVE_INFINITY,
      milliseconds(ours.historyMs ?? Number.POSITIVE_INFINITY),
    ),
  ];
}

/** What the package may cost by itself: a save in microseconds, a load over `JSON.parse` of the state. */
export function coreVerdicts(
  saveMicroseconds: number,
  loads: readonly { readonly messages: number; readonly loadMs: number; readonly parseMs: number }[],
): readonly Verdict[] {
  return [
    verdict("a save takes at most 20 µs of the processor", 20, saveMicroseconds, `${saveMicroseconds.toFixed(1)} µs`),
    ...loads.map(({ messages, loadMs, parseMs }) => {
      const ratio = loadMs / parseMs;
      return verdict(`a load of ${messages} messages at most 8x JSON.parse of its state`, 8, ratio, times(ratio));
    }),
  ];
}

export const verdict = (target: string, limit: number, measured: number, shown: string): Verdict => ({
  target,
  limit,
  measured,
  shown,
  met: measured <= limit,
});
