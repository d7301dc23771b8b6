import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { bodyOf } from "../../checkpoint/record/chain.ts";
import { isGraphs, openHeader } from "../../checkpoint/record/record.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import type { SeriesAnswer, SeriesPoint } from "../api.ts";
import type { StudioRequest } from "../request.ts";
import type { StudioContext } from "../studio-context.ts";
import { cutAt, LINE_SHOWN } from "./cut.ts";

const MOST_POINTS = 300;
const PAGE = 200;
/** Charts of a longer history begin later, and say so by the number of checkpoints. */
const MOST_RECORDS = 20_000;
const MOST_TOOLS = 50;

/** What a thread's checkpoints cost, folded to a few hundred points. Sums of tokens are read off the records themselves. */
export async function seriesAnswer(studio: StudioContext, { thread: threadId }: StudioRequest): Promise<SeriesAnswer> {
  const points: SeriesPoint[] = [];
  let before: number | undefined;
  while (points.length < MOST_RECORDS) {
    const query = { limit: PAGE, ...(before !== undefined && { before }) };
    const chain = await studio.context.call({ operation: "readRecords", threadId }, (log) =>
      log.readRecords(threadId, query),
    );
    const [oldest] = chain?.records ?? [];
    if (chain === undefined || oldest === undefined) break;
    for (const record of chain.records.toReversed()) {
      const point = record.checkpointId === undefined ? undefined : pointOf(record);
      if (point !== undefined) points.push(point);
    }
    before = oldest.seq;
  }
  points.reverse();
  const isGraph = isGraphs(openHeader((await studio.states.place(threadId, undefined)).entry).thread);
  const tools = isGraph ? [] : toolsOf((await studio.states.at(threadId, undefined)).state.toolExecutions);
  return { ...folded(withGaps(points)), checkpoints: points.length, tools };
}

function pointOf(record: LogRecord): SeriesPoint | undefined {
  const { kind, createdAt, messageCount, bodyBytes, chain, thread } = openHeader(record);
  if (kind !== "base" && kind !== "delta") return undefined;
  const totals = isGraphs(thread) ? undefined : totalsIn(record);
  return {
    at: createdAt,
    messages: messageCount,
    bytes: bodyBytes,
    loadBytes: chain.bytes,
    gap: 0,
    ...tokensOf(totals),
  };
}

/** The sums, where this record changes them. One that is damaged has no tokens: other views say what is wrong with it. */
function totalsIn(record: LogRecord): Readonly<Record<string, unknown>> | undefined {
  try {
    const { base, delta } = bodyOf(record, []);
    if (base !== undefined) return base.totals as unknown as Readonly<Record<string, unknown>>;
    const { set, records } = delta as { set?: Record<string, unknown>; records?: Record<string, { set?: object }> };
    const changed = set?.["totals"] ?? records?.["totals"]?.set;
    return isPlainObject(changed) ? changed : undefined;
  } catch {
    return undefined;
  }
}

function tokensOf(totals: Readonly<Record<string, unknown>> | undefined): Partial<SeriesPoint> {
  const number = (name: string): number | undefined => {
    const value = totals?.[name];
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  };
  const [input, output, cached] = [number("inputTokens"), number("outputTokens"), number("cachedInputTokens")];
  return {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(cached !== undefined && { cachedTokens: cached }),
  };
}

/** Gaps between saves; sums that a record left as they were are carried on. */
function withGaps(points: readonly SeriesPoint[]): readonly SeriesPoint[] {
  let [input, output, cached] = [0, 0, 0];
  return points.map((point, index) => {
    input = point.inputTokens ?? input;
    output = point.outputTokens ?? output;
    cached = point.cachedTokens ?? cached;
    const gap = index === 0 ? 0 : Math.max(0, point.at - (points[index - 1]?.at ?? point.at));
    return { ...point, gap, inputTokens: input, outputTokens: output, cachedTokens: cached };
  });
}

/** Of several checkpoints in one point: the last of what grows, the largest of the rest. */
function folded(points: readonly SeriesPoint[]): Pick<SeriesAnswer, "points" | "perPoint"> {
  const perPoint = Math.max(1, Math.ceil(points.length / MOST_POINTS));
  const shown: SeriesPoint[] = [];
  for (let from = 0; from < points.length; from += perPoint) {
    const part = points.slice(from, from + perPoint);
    const last = part.at(-1);
    if (last === undefined) break;
    const most = (of: (point: SeriesPoint) => number): number => part.reduce((max, each) => Math.max(max, of(each)), 0);
    shown.push({ ...last, bytes: most(({ bytes }) => bytes), gap: most(({ gap }) => gap) });
  }
  return { points: shown, perPoint };
}

function toolsOf(executions: readonly ToolExecution[]): SeriesAnswer["tools"] {
  const tools = new Map<string, { calls: number; failed: number; took: number[] }>();
  for (const { toolName, status, startedAt, settledAt } of executions) {
    const tool = tools.get(toolName) ?? { calls: 0, failed: 0, took: [] };
    tools.set(toolName, tool);
    tool.calls++;
    if (status === "failed" || status === "unknown") tool.failed++;
    if (startedAt !== undefined && settledAt !== undefined) tool.took.push(Math.max(0, settledAt - startedAt));
  }
  return [...tools]
    .sort(([, a], [, b]) => b.calls - a.calls)
    .slice(0, MOST_TOOLS)
    .map(([name, { calls, failed, took }]) => {
      took.sort((a, b) => a - b);
      const [median, slowest] = [took[took.length >> 1], took.at(-1)];
      return {
        name: cutAt(name, LINE_SHOWN),
        calls,
        failed,
        ...(median !== undefined && { medianMs: median }),
        ...(slowest !== undefined && { slowestMs: slowest }),
      };
    });
}
