import { type Measurement, measure, type Plan, SHOWN_STEPS, STEPS } from "./checkpointers.ts";
import { CONTENDERS } from "./contenders/index.ts";
import { measureSaveFloor, type SaveFloor } from "./save-floor.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { judge, type Verdict } from "./targets.ts";
import { MESSAGE_BYTES } from "./workload.ts";

/** The backends that need no server. */
export async function benchLocal(plan: Plan): Promise<{
  readonly steps: number;
  readonly messageBytes: number;
  readonly measurements: readonly Measurement[];
  readonly floor: SaveFloor;
  readonly verdicts: readonly Verdict[];
}> {
  const measurements = await measure(CONTENDERS, plan);
  console.log(`\n${measurementTable(measurements)}`);
  const floor = await measureSaveFloor(plan);
  const verdicts = [...judge(measurements), floor.verdict];
  return { steps: STEPS, messageBytes: MESSAGE_BYTES, measurements, floor, verdicts };
}

function measurementTable(rows: readonly Measurement[]): string {
  const head = [
    "",
    "durability",
    "bytes",
    "allocated",
    ...SHOWN_STEPS.map((step) => `save @${step}`),
    "any save",
    "all saves",
    "open+load",
    "load",
    "history",
  ];
  return renderTable(
    head,
    rows.map((row) => [
      row.name,
      row.durability,
      kilobytes(row.bytes),
      kilobytes(row.allocatedBytes),
      ...SHOWN_STEPS.map((step) => milliseconds(row.saveMs[step])),
      milliseconds(row.anySaveMs),
      milliseconds(row.totalMs),
      milliseconds(row.openAndLoadMs),
      milliseconds(row.loadMs),
      row.historyMs === undefined ? "-" : milliseconds(row.historyMs),
    ]),
  );
}
