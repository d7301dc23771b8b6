/**
 * Writes the figures of docs/speed.md from bench/results, so that the page says
 * what was measured, missed targets included. With `--check` it writes nothing
 * and fails when the page is out of step.
 */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import type { BytesMeasurement } from "../bench/bytes.ts";
import type { CoreResult } from "../bench/core.ts";
import type { HttpResult } from "../bench/http.ts";
import { limitsSection } from "../bench/limits.ts";
import type { ObjectStoreResult } from "../bench/object-store.ts";
import type { StoreMeasurement } from "../bench/stores.ts";
import { kilobytes, milliseconds, times } from "../bench/table.ts";
import type { Verdict } from "../bench/targets.ts";
import type { WritersMeasurement } from "../bench/writers.ts";

const FILE = new URL("../docs/speed.md", import.meta.url);
const [START, END] = ["<!-- figures: written by npm run sync -->", "<!-- end of figures -->"];

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly saveMs: Readonly<Record<"10" | "400", number>>;
  readonly loadMs: number;
  readonly historyMs?: number;
  readonly roundTrips?: { readonly save: number; readonly load: number };
}

interface Result {
  readonly node: string;
  readonly date: string;
  readonly load: number;
  readonly rounds: number;
  readonly verdicts: readonly Verdict[];
  readonly measurements?: readonly unknown[];
  readonly throughput?: readonly { readonly name: string; readonly savesPerSecond: number }[];
}

const table = (rows: readonly (readonly string[])[]): string =>
  rows.flatMap((row, index) => [line(row), ...(index === 0 ? [line(row.map(() => "---"))] : [])]).join("\n");
const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function localTable({ measurements = [] }: Result): string {
  const rows = (measurements as readonly Row[]).map((row) => [
    row.name,
    kilobytes(row.bytes),
    milliseconds(row.saveMs[10]),
    milliseconds(row.saveMs[400]),
    milliseconds(row.loadMs),
    row.historyMs === undefined ? "–" : milliseconds(row.historyMs),
  ]);
  return table([["", "bytes", "save at step 10", "at step 400", "load", "history of 400"], ...rows]);
}

/** Those with the same durability stand together. */
function peersTable({ measurements = [] }: Result): string {
  const rows = (measurements as readonly (Row & { readonly durability: string; readonly openAndLoadMs: number })[]).map(
    (row) => [
      row.name,
      row.durability,
      kilobytes(row.bytes),
      milliseconds(row.saveMs[10]),
      milliseconds(row.saveMs[400]),
      milliseconds(row.openAndLoadMs),
      milliseconds(row.loadMs),
      row.historyMs === undefined ? "–" : milliseconds(row.historyMs),
    ],
  );
  const head = ["", "durability", "bytes", "save at step 10", "at step 400", "open and load", "load again"];
  return table([[...head, "history of 400"], ...rows]);
}

function objectStoreTable(result: Result): string {
  const rows = (result as Result & ObjectStoreResult).lengths.map(({ length, save, coldLoad }) => [
    `${length.toLocaleString("en")} saves`,
    save.requests.toFixed(1),
    kilobytes(save.sent),
    String(coldLoad.requests),
    String(coldLoad.rounds),
    kilobytes(coldLoad.received),
  ]);
  return table([["", "requests a save", "sent", "GETs of a cold load", "rounds", "received"], ...rows]);
}

function serverTable({ measurements = [], throughput = [] }: Result): string {
  const rows = (measurements as readonly Row[]).map((row) => [
    row.name,
    kilobytes(row.bytes),
    String(row.roundTrips?.save),
    milliseconds(row.saveMs[10]),
    milliseconds(row.saveMs[400]),
    milliseconds(row.loadMs),
    row.historyMs === undefined ? "–" : milliseconds(row.historyMs),
    `${throughput.find(({ name }) => name === row.name)?.savesPerSecond.toFixed(0)}/s`,
  ]);
  const head = ["", "bytes", "round trips a save", "save at step 10", "at step 400", "load", "history of 400"];
  return table([[...head, "saves, 8 writers"], ...rows]);
}

function coreTable(result: Result): string {
  const { save, loads } = result as Result & CoreResult;
  const rows = loads.map(({ messages, loadMs, parseMs }) => [
    `cold load of ${messages} messages`,
    milliseconds(loadMs),
    milliseconds(parseMs),
    times(loadMs / parseMs),
  ]);
  const one = ["a save, with adding its message", milliseconds(save.microseconds / 1000), "–", "–"];
  return table([["processor time, in memory", "holdfast", "`JSON.parse` of the state", "ratio"], one, ...rows]);
}

function agentTable({ measurements = [] }: Result): string {
  type AgentRow = { name: string; savesPerIteration: number; msAt10: number; msAt400: number; msAt4000: number };
  const rows = (measurements as readonly AgentRow[]).map(({ name, savesPerIteration, msAt10, msAt400, msAt4000 }) => [
    name,
    String(savesPerIteration),
    milliseconds(msAt10),
    milliseconds(msAt400),
    times(msAt400 / msAt10),
    milliseconds(msAt4000),
    times(msAt4000 / msAt10),
  ]);
  const head = ["", "saves an iteration", "10 messages", "400 messages", "growth", "4,000 messages", "growth"];
  return table([head, ...rows]);
}

function httpTable(result: Result): string {
  const { overheads, requestsPerSecond } = result as Result & HttpResult;
  const rows = overheads.map(({ storage, operation, directMs, httpMs, addedMs }) => [
    `${operation}, ${storage}`,
    ...[directMs, httpMs, addedMs].flatMap(({ p50, p99 }) => [milliseconds(p50), milliseconds(p99)]),
  ]);
  const head = ["", "direct p50", "p99", "over HTTP p50", "p99", "added p50", "p99"];
  const { oneAtATime, sixteenAtOnce } = requestsPerSecond;
  const rate = `${oneAtATime.toFixed(0)} requests a second one at a time, ${sixteenAtOnce.toFixed(0)} sixteen at once, on kept connections; client and service share the two processors.`;
  return `${table([head, ...rows])}\n\n${rate}`;
}

/** By size, each with the load of its own time: 100,000 items are measured by themselves. */
function storesTable({ measurements = [] }: Result): string {
  const cell = ({ p50, p99 }: { p50: number; p99: number }): string => `${milliseconds(p50)} / ${milliseconds(p99)}`;
  const rows = (measurements as readonly StoreMeasurement[]).map((row) => [
    row.name,
    row.items.toLocaleString("en"),
    ...[row.putMs, row.getMs].map(cell),
    // Theirs have no search by words where there are vectors.
    row.name.startsWith("langgraph") ? "–" : cell(row.textMs),
    ...Object.values(row.filtered).map(
      (one) => `${cell(one)} (${one.recall.toFixed(2)}${one.isFull ? "" : ", short"})`,
    ),
    row.load.toFixed(1),
  ]);
  const vectors = ["no filter", "50 %", "1 %", "0.01 %"].map((share) => `vector, ${share} (recall@10)`);
  return table([["p50 / p99", "items", "put", "get", "words", ...vectors, "load"], ...rows]);
}

function writersTable({ measurements = [] }: Result): string {
  const rows = (measurements as readonly WritersMeasurement[]).map(({ name, savesPerSecond, rawPerSecond, ratio }) => [
    name,
    `${savesPerSecond.toFixed(0)}/s`,
    `${rawPerSecond.toFixed(0)}/s`,
    times(ratio),
  ]);
  return table([["", "saves, 64 threads", "raw", "ratio"], ...rows]);
}

function bytesTable({ measurements = [] }: Result): string {
  const rows = (measurements as readonly BytesMeasurement[]).map(({ name, withoutWords, words, parts }) => [
    name,
    times(withoutWords),
    times(words),
    parts
      .slice(0, 5)
      .map((part) => `${part.name} ${kilobytes(part.bytes)}`)
      .join(", "),
  ]);
  return table([["of 400 messages of prose", "without words", "index of words", "the largest parts"], ...rows]);
}

const PARTS: readonly { readonly file: string; readonly title: string; readonly render: (result: Result) => string }[] =
  [
    { file: "core", title: "The package itself, above any storage", render: coreTable },
    { file: "checkpointers", title: "Without a server", render: localTable },
    { file: "postgres", title: "PostgreSQL", render: serverTable },
    { file: "redis", title: "Redis", render: serverTable },
    { file: "writers", title: "64 threads in one process", render: writersTable },
    { file: "bytes", title: "What the bytes are", render: bytesTable },
    { file: "peers", title: "Beside what others keep, in one run", render: peersTable },
    { file: "s3", title: "Object storage, over S3's protocol", render: objectStoreTable },
    { file: "http", title: "HTTP, over what is behind it", render: httpTable },
    { file: "stores", title: "Stores, with vectors of 384 numbers", render: storesTable },
    { file: "agent", title: "One iteration of the agent, with a model that takes no time", render: agentTable },
  ];

const pathOf = (file: string): URL => new URL(`../bench/results/${file}-node20.json`, import.meta.url);

async function part({ file, title, render }: (typeof PARTS)[number]): Promise<string> {
  const path = pathOf(file);
  const result = JSON.parse(await readFile(path, "utf8")) as Result;
  const run = `\`npm run bench -- --only=${file} --rounds=${result.rounds}\`, ${result.date.slice(0, 10)}, Node ${result.node}, ${result.load.toFixed(1)} waiting processes for each of two processors.`;
  const verdicts = result.verdicts.map(({ target, shown, met }) => [target, shown, met ? "yes" : "**no**"]);
  return [`### ${title}`, run, render(result), table([["target", "measured", "met"], ...verdicts])].join("\n\n");
}

const MEASURED = PARTS.filter(({ file }) => existsSync(pathOf(file)));

const text = await readFile(FILE, "utf8");
const [before, rest] = text.split(START);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`docs/speed.md lacks the lines ${START} and ${END}`);
const wanted = `${before}${START}\n${[limitsSection(), ...(await Promise.all(MEASURED.map(part)))].join("\n\n")}\n${END}${after}`;
if (text === wanted) console.log("docs/speed.md is in step with bench/results");
else if (process.argv.includes("--check")) {
  console.error("docs/speed.md is out of step with bench/results: run `npm run sync`");
  process.exitCode = 1;
} else {
  await writeFile(FILE, wanted);
  console.log("docs/speed.md written");
}
