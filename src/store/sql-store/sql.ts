/** A value of a statement. What a database calls its type is for its dialect to say. */
export interface Value {
  readonly type: "text" | "number" | "texts" | "vector";
  readonly value: unknown;
}

export const text = (value: string | null): Value => ({ type: "text", value });
export const number = (value: number | null): Value => ({ type: "number", value });
/** Only where the database takes lists. */
export const texts = (value: readonly string[]): Value => ({ type: "texts", value });
export const vector = (value: Float32Array | Uint8Array): Value => ({ type: "vector", value });

/** A piece of a statement. Text of a user's is a value in it and never a part of its text. */
export class Sql {
  readonly parts: readonly string[];
  /** One between every two parts. */
  readonly values: readonly Value[];

  constructor(parts: readonly string[], values: readonly Value[]) {
    this.parts = parts;
    this.values = values;
  }
}

/** Text of our own, such as the name of a table. */
export const raw = (given: string): Sql => new Sql([given], []);

/** `` sql`i.key = ${text(key)} AND ${condition}` `` */
export function sql(strings: TemplateStringsArray, ...given: readonly (Sql | Value)[]): Sql {
  const parts = [strings[0] ?? ""];
  const values: Value[] = [];
  const append = (more: string): void => {
    parts.push(`${parts.pop() ?? ""}${more}`);
  };
  for (const [index, each] of given.entries()) {
    const inner = each instanceof Sql ? each : new Sql(["", ""], [each]);
    append(inner.parts[0] ?? "");
    parts.push(...inner.parts.slice(1));
    values.push(...inner.values);
    append(strings[index + 1] ?? "");
  }
  return new Sql(parts, values);
}

export function joined(pieces: readonly Sql[], between: string): Sql {
  const [first = raw(""), ...others] = pieces;
  const separator = raw(between);
  return others.reduce((all, piece) => sql`${all}${separator}${piece}`, first);
}

export interface Rendered<Bind> {
  readonly text: string;
  readonly values: readonly Bind[];
}

/** For databases whose placeholders have numbers or names: a value that stands at several places is sent once. */
export function numbered(statement: Sql, placeholder: (place: number, value: Value) => string): Rendered<Value> {
  const places = new Map<Value, string>();
  const placed = statement.values.map((value) => {
    const place = places.get(value) ?? placeholder(places.size + 1, value);
    places.set(value, place);
    return place;
  });
  return { text: filled(statement, placed), values: [...places.keys()] };
}

/** For databases whose placeholder is a question mark. */
export const positional = (statement: Sql): Rendered<unknown> => ({
  text: statement.parts.join("?"),
  values: statement.values.map(({ value }) => value),
});

const filled = ({ parts }: Sql, placed: readonly string[]): string =>
  parts.map((part, index) => (index === 0 ? part : `${placed[index - 1] ?? ""}${part}`)).join("");
