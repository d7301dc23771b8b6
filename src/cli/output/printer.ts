import type { World } from "../world.ts";
import { shellWord, visible, visibleJson } from "./visible.ts";
import { cutTo, padTo, widthOf } from "./width.ts";
import { agoText } from "./wording.ts";

export const FORMATS = ["table", "tsv", "json", "ndjson", "id"] as const;
export type Format = (typeof FORMATS)[number];

/** What stands in a cell: text, a number, a time, an id that is to be pasted back, or nothing. */
export type Cell = string | number | Date | { readonly id: string } | undefined;

export interface Column<Item> {
  readonly title: string;
  readonly cell: (item: Item) => Cell;
  readonly align?: "right";
}

/** A list as it is printed in every format. */
export interface Listing<Item> {
  readonly items: AsyncIterable<Item> | Iterable<Item>;
  readonly columns: readonly Column<Item>[];
  /** What a program gets; the names of its fields are those of the library. */
  readonly json: (item: Item) => unknown;
  readonly id: (item: Item) => string;
  /** Asked when the items are over. */
  readonly cursor?: () => string | undefined;
  /** What a program is told beside the items; asked when they are over. */
  readonly facts?: () => Readonly<Record<string, unknown>>;
}

export interface PrinterSettings {
  readonly format: Format;
  readonly wide: boolean;
  readonly colour: boolean;
}

/** How many rows are looked at before the columns of a table are set. */
const ROWS_MEASURED = 200;
const WIDEST_CELL = 48;

/** The data of a command, on stdout, in the format that was asked for. */
export class Printer {
  readonly format: Format;
  readonly #world: World;
  readonly #settings: PrinterSettings;

  constructor(world: World, settings: PrinterSettings) {
    this.format = settings.format;
    this.#world = world;
    this.#settings = settings;
  }

  get isForPeople(): boolean {
    return this.format === "table";
  }

  /** Prints as the items come and holds no more than a screenful of them. Returns how many there were. */
  async list<Item>(listing: Listing<Item>): Promise<number> {
    if (this.format === "json") return this.#jsonList(listing);
    if (this.format === "table") return this.#table(listing);
    let count = 0;
    for await (const item of listing.items) {
      await this.#line(this.#lineOf(listing, item));
      count++;
    }
    return count;
  }

  /** One thing: its facts for people and pipes, the whole of it for programs. */
  async facts(facts: readonly (readonly [name: string, value: Cell])[], json: unknown): Promise<void> {
    if (this.format === "json" || this.format === "ndjson") return this.document(json);
    const known = facts.filter(([, value]) => value !== undefined);
    const width = Math.max(0, ...known.map(([name]) => name.length));
    for (const [name, value] of known) {
      const text = this.#text(value);
      await this.#line(this.isForPeople ? `${this.bold(name.padEnd(width))}  ${text}` : `${name}\t${text}`);
    }
  }

  /** JSON, whatever the format. */
  async document(json: unknown): Promise<void> {
    await this.#line(visibleJson(json, this.format === "json" ? 2 : undefined));
  }

  /** Text that is safe already: see `visible`. */
  async text(text: string): Promise<void> {
    await this.#line(text);
  }

  bold(text: string): string {
    return this.#settings.colour ? `\u001b[1m${text}\u001b[22m` : text;
  }

  async #jsonList<Item>({ items, json, cursor, facts }: Listing<Item>): Promise<number> {
    let count = 0;
    // Nothing is written before the first item is there: a failure must not leave half a document.
    for await (const item of items) {
      await this.#world.stdout.write(`${count === 0 ? '{"items":[\n' : ",\n"}${visibleJson(json(item))}`);
      count++;
    }
    const begun = count === 0 ? '{"items":[' : "\n";
    const rest = Object.entries({ ...facts?.(), cursor: cursor?.() }).filter(([, value]) => value !== undefined);
    const told = rest.map(([name, value]) => `,${JSON.stringify(name)}:${visibleJson(value)}`);
    await this.#line(`${begun}]${told.join("")}}`);
    return count;
  }

  #lineOf<Item>({ columns, json, id }: Listing<Item>, item: Item): string {
    if (this.format === "ndjson") return visibleJson(json(item));
    // A person's terminal gets ids that it does not obey, a pipe gets them as they are.
    if (this.format === "id") return this.#world.stdout.isTerminal ? shellWord(id(item)) : id(item);
    return columns.map(({ cell }) => this.#text(cell(item))).join("\t");
  }

  async #table<Item>({ items, columns }: Listing<Item>): Promise<number> {
    const waiting: string[][] = [];
    let widths: readonly number[] | undefined;
    let count = 0;
    const flush = async (): Promise<void> => {
      widths = columns.map(({ title }, at) => Math.max(title.length, ...waiting.map((row) => widthOf(row[at] ?? ""))));
      await this.#row(
        columns,
        widths,
        columns.map(({ title }) => title.toUpperCase()),
        true,
      );
      for (const row of waiting) await this.#row(columns, widths, row);
      waiting.length = 0;
    };
    for await (const item of items) {
      const row = columns.map(({ cell }) => this.#fitting(cell(item)));
      count++;
      if (widths !== undefined) await this.#row(columns, widths, row);
      else if (waiting.push(row) === ROWS_MEASURED) await flush();
    }
    if (waiting.length > 0) await flush();
    return count;
  }

  async #row<Item>(
    columns: readonly Column<Item>[],
    widths: readonly number[],
    cells: readonly string[],
    isTitle = false,
  ): Promise<void> {
    const padded = cells.map((cell, at) => padTo(cell, widths[at] ?? 0, columns[at]?.align ?? "left"));
    const line = padded.join("  ").trimEnd();
    await this.#line(isTitle ? this.bold(line) : line);
  }

  /** An id is never cut: it could not be pasted back. */
  #fitting(cell: Cell): string {
    const isId = typeof cell === "object" && "id" in cell;
    const near = typeof cell === "string" && !this.#settings.wide ? cell.slice(0, 16 * WIDEST_CELL) : cell;
    const text = this.#text(near);
    return this.#settings.wide || isId ? text : cutTo(text, WIDEST_CELL);
  }

  #text(cell: Cell): string {
    if (cell === undefined) return "";
    if (cell instanceof Date) return this.isForPeople ? agoText(cell, this.#world.now()) : cell.toISOString();
    if (typeof cell === "object") return this.isForPeople ? shellWord(cell.id) : visible(cell.id);
    if (typeof cell === "number") return String(cell);
    return visible(cell);
  }

  #line(text: string): Promise<void> {
    return this.#world.stdout.write(`${text}\n`);
  }
}
