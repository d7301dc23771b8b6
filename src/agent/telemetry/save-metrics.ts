import { StateError } from "../../errors.ts";
import type { RunEvent } from "../events.ts";
import { SAVE_DURATION } from "./gen-ai.ts";
import { errorType, type Telemetry } from "./telemetry.ts";

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
