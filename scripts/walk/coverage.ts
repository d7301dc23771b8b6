import { Session } from "node:inspector";
import { findSourceMap, type SourceMap } from "node:module";
import { fileURLToPath } from "node:url";

/** What ran, each once: files by path, functions as `file: name`, lines as `file:number`. Code that only defines things (a module's top) counts when it runs. */
export interface Walked {
  readonly files: ReadonlySet<string>;
  readonly functions: readonly string[];
  readonly lines: ReadonlySet<string>;
}

interface Script {
  readonly scriptId: string;
  readonly url: string;
  readonly functions: readonly { readonly functionName: string; readonly ranges: readonly Range[] }[];
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/**
 * Counts from the moment it is made: V8 counts blocks only in functions that were compiled after that, so it has to be
 * made before the modules are imported.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #isCounted: (path: string) => boolean;

  constructor(isCounted: (path: string) => boolean) {
    this.#isCounted = isCounted;
    this.#session.connect();
    this.#post("Profiler.enable");
    this.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    this.#post("Debugger.enable");
  }

  async walk(work: () => Promise<unknown>): Promise<Walked> {
    this.#take();
    await work();
    const files = new Set<string>();
    const functions: string[] = [];
    const lines = new Set<string>();
    for (const script of this.#take()) {
      const path = script.url.startsWith("file:") ? fileURLToPath(script.url) : "";
      if (!this.#isCounted(path)) continue;
      const text = this.#post<{ scriptSource: string }>("Debugger.getScriptSource", { scriptId: script.scriptId });
      const original = new OriginalLines(path, findSourceMap(script.url) ?? findSourceMap(path), text.scriptSource);
      for (const { functionName, ranges } of script.functions) {
        const [whole] = ranges;
        // A function without a place in the source is a helper of the compiler; one as long as the file is its module.
        if (whole === undefined || whole.count === 0 || whole.endOffset >= text.scriptSource.trimEnd().length) continue;
        const line = original.at(whole.startOffset);
        if (line === undefined) continue;
        files.add(path);
        functions.push(`${path}:${line}: ${functionName || "(anonymous)"}`);
      }
      for (const line of original.of(script.functions.flatMap(({ ranges }) => ranges))) lines.add(`${path}:${line}`);
    }
    return { files, functions, lines };
  }

  /** What ran since it was asked last. */
  #take(): readonly Script[] {
    return this.#post<{ result: readonly Script[] }>("Profiler.takePreciseCoverage").result;
  }

  /** The inspector answers a session of its own thread before `post` returns. */
  #post<T>(method: string, parameters: object = {}): T {
    let answer: { readonly error: Error | null; readonly result?: object } | undefined;
    this.#session.post(method, parameters, (error, result) => {
      answer = { error, ...(result !== undefined && { result }) };
    });
    if (answer === undefined) throw new Error(`the inspector did not answer ${method}`);
    if (answer.error !== null) throw answer.error;
    return answer.result as T;
  }
}

/** From offsets in what Node ran to lines of the TypeScript that it was made from. */
class OriginalLines {
  readonly #map: SourceMap;
  readonly #text: string;
  /** Where each line of the text begins. */
  readonly #starts: readonly number[];

  constructor(path: string, map: SourceMap | undefined, text: string) {
    if (map === undefined) throw new Error(`${path} has no source map: run this script by npm run walk`);
    this.#map = map;
    this.#text = text;
    this.#starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  }

  at(offset: number): number | undefined {
    const line = this.#starts.findLastIndex((start) => start <= offset);
    const entry = this.#map.findEntry(line, offset - (this.#starts[line] ?? 0));
    return "originalLine" in entry ? entry.originalLine + 1 : undefined;
  }

  /** The lines that ran: of each character, the innermost range around it decides. */
  of(ranges: readonly Range[]): ReadonlySet<number> {
    const ran = new Uint8Array(this.#text.length);
    const outermostFirst = [...ranges].sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
    for (const { startOffset, endOffset, count } of outermostFirst) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    const lines = new Set<number>();
    for (const [offset, isRun] of ran.entries()) {
      const line = isRun === 1 ? this.at(offset) : undefined;
      if (line !== undefined) lines.add(line);
    }
    return lines;
  }
}
