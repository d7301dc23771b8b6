import { reasonOf } from "../errors.ts";

/** What is wrong with a value that was given as JSON Schema and is something else; nothing where it may be one. */
export function mistakeInJsonSchema(schema: object): string | undefined {
  const members = Object.entries(schema);
  const [name, member] = members.find(([, value]) => vendorOf(value) !== undefined) ?? [];
  if (name !== undefined) {
    const wrap = OBJECT_OF[vendorOf(member) ?? ""] ?? "an object schema around it";
    return `is an object of schemas, not a schema. Write ${wrap} instead of { ${name}: … }`;
  }
  if (members.some(([, value]) => typeof value === "function") || typeof Reflect.get(schema, "parse") === "function") {
    return "has methods, so it is no JSON Schema, and it is no Standard Schema either. Use zod 4, valibot or arktype, or write JSON Schema";
  }
  return undefined;
}

const OBJECT_OF: Readonly<Record<string, string>> = {
  zod: "z.object({ … })",
  valibot: "toStandardJsonSchema(v.object({ … }))",
  arktype: "type({ … })",
};

function vendorOf(value: unknown): string | undefined {
  const isHolder = typeof value === "function" || (typeof value === "object" && value !== null);
  if (!isHolder || !("~standard" in value)) return undefined;
  const { vendor } = value["~standard"] as { vendor?: unknown };
  return typeof vendor === "string" ? vendor : "";
}

/** Why a schema's own library cannot write it as JSON Schema, and what to do. */
export function unwritable(error: unknown, vendor: string): string {
  const reason = reasonOf(error).replace(/\.$/, "");
  const example =
    vendor === "zod" ? ": z.iso.datetime().transform((text) => new Date(text)) in place of z.date(), for example" : "";
  return (
    `${vendor} cannot write it as JSON Schema (${reason}). A model sends JSON: ` +
    `take text or a number and turn it into what you need${example}`
  );
}
