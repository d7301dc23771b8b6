/**
 * Writes the figures of docs/scale.md from bench/results/scale-*.json, and what
 * they come to for 100 million threads. With `--check` it writes nothing and
 * fails when the page is out of step.
 */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import type { ServingMemory } from "../bench/scale/memory.ts";
import type { Operation, Percentiles } from "../bench/scale/operations.ts";
import type { PartSize } from "../bench/scale/sizes.ts";
import type { ScaleResult } from "../bench/scale.ts";
import { kilobytes, milliseconds, times } from "../bench/table.ts";

const FILE = new URL("../docs/scale.md", import.meta.url);
const [START, END] = ["<!-- scale: written by npm run sync -->", "<!-- end of scale -->"];
const WANTED = 100_000_000;
const PAGE_BYTES = 8192;
const TARGET = 1.5;

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
const count = (value: number): string => Math.round(value).toLocaleString("en");
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;

function section(result: ScaleResult): string {
  const { storage, threads, few, date, node, load, memory } = result;
  const run = `\`npm run bench:scale\`, ${date.slice(0, 10)}, Node ${node}, ${load.toFixed(1)} waiting processes for each of two processors.`;
  return [
    `### ${storage}: ${count(threads)} threads beside ${count(few)}`,
    run,
    timesOf(result),
    sizesOf(result),
    ...(memory === undefined ? [] : [servedBy(memory)]),
  ].join("\n\n");
}

const servedBy = ({ heapBytesAThread, rssBytes, threads }: ServingMemory): string =>
  `A process that served ${count(threads)} threads held ${kilobytes(rssBytes)} in all, ${count(heapBytesAThread)} bytes more for each thread; its cache of states is bounded by bytes, so that does not go on for ever.`;

function timesOf({ threads, few, timings }: ScaleResult): string {
  const operations = Object.entries(timings.many) as unknown as readonly [Operation, Percentiles][];
  const rows = operations.map(([operation, many]) => {
    const small = timings.few[operation];
    const ratios = [many.p50 / small.p50, many.p99 / small.p99];
    const shown = ratios.map((ratio) => (ratio <= TARGET ? times(ratio) : `**${times(ratio)}**`));
    return [operation, ...[small.p50, many.p50, small.p99, many.p99].map(milliseconds), ...shown];
  });
  const sizes = [count(few), count(threads)];
  const head = ["", ...sizes.map((size) => `p50, ${size}`), ...sizes.map((size) => `p99, ${size}`), "p50", "p99"];
  return table(head, rows);
}

function sizesOf({ storage, threads, sizes, payloadBytes }: ScaleResult): string {
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const large = sizes.filter(({ bytes }) => bytes / total > 0.005);
  const sum = `A thread of three checkpoints with ${count(payloadBytes / threads)} bytes of messages takes ${count(total / threads)} bytes, ${count(WANTED)} of them ${gigabytes((total / threads) * WANTED)}.`;
  if (storage === "SQLite") return sum;
  const rows = large.map((part) => [
    `\`${part.name}\``,
    count(part.bytes / threads),
    part.depth === undefined ? "" : String(part.depth),
    gigabytes((part.bytes / threads) * WANTED),
    part.depth === undefined ? "" : String(depthAt(part, threads)),
  ]);
  const head = ["table or index", "bytes a thread", "depth", `${count(WANTED)} threads`, "depth then"];
  return `${sum}\n\n${table(head, rows)}`;
}

/** A B-tree's pages hold about as many entries on every level: each level up has that many times fewer pages. */
function depthAt({ bytes, name }: PartSize, threads: number): number {
  const entries = /threads/.test(name) ? threads : 3 * threads;
  const fanout = (entries * PAGE_BYTES) / bytes;
  const leaves = (bytes / PAGE_BYTES) * (WANTED / threads);
  return 1 + Math.ceil(Math.log(leaves) / Math.log(fanout));
}

const parts: string[] = [];
for (const name of ["postgres", "sqlite"]) {
  const path = new URL(`../bench/results/scale-${name}.json`, import.meta.url);
  if (existsSync(path)) parts.push(section(JSON.parse(await readFile(path, "utf8")) as ScaleResult));
}
const text = await readFile(FILE, "utf8");
const [before, rest] = text.split(START);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`docs/scale.md lacks the lines ${START} and ${END}`);
const wanted = `${before}${START}\n${parts.join("\n\n")}\n${END}${after}`;
if (text === wanted) console.log("docs/scale.md is in step with bench/results");
else if (process.argv.includes("--check")) {
  console.error("docs/scale.md is out of step with bench/results: run `npm run sync`");
  process.exitCode = 1;
} else {
  await writeFile(FILE, wanted);
  console.log("docs/scale.md written");
}
