import { isPlainObject } from "../values/immutable.ts";
import { subjectsIn } from "./subjects.ts";

/** What programs call the person that something is about, where it is not called `subject`. */
const NAMES: ReadonlySet<string> = new Set(
  ["user", "customer", "person", "member", "patient", "employee", "student"].flatMap((role) => [
    role,
    `${role}id`,
    `${role}name`,
    `${role}email`,
    `${role}uuid`,
  ]),
);
const ALSO: ReadonlySet<string> = new Set([
  "uid",
  "userkey",
  "usersub",
  "email",
  "accountid",
  "enduserid",
  "endusername",
]);

/**
 * The member of some metadata that seems to say who it is about, where `subject` does not: an erasure looks for
 * `subject` and for nothing else.
 */
export function unnamedPerson(metadata: Readonly<Record<string, unknown>>): string | undefined {
  if (subjectsIn(metadata["subject"]).length > 0) return undefined;
  return Object.keys(metadata).find((name) => {
    const plain = name.toLowerCase().replaceAll(/[^a-z]/g, "");
    const value = metadata[name];
    const isId = typeof value === "string" || typeof value === "number" || isPlainObject(value);
    return isId && (NAMES.has(plain) || ALSO.has(plain));
  });
}

/** Of each name once in a process: a program that does it does it in every run. */
const warned = new Set<string>();

/** Says so aloud, by the member's name. Gives what was said, for those who tell it in their own way too. */
export function warnOfUnnamedPerson(where: string, metadata: Readonly<Record<string, unknown>>): string | undefined {
  const name = unnamedPerson(metadata);
  if (name === undefined) return undefined;
  const told = `${where}: metadata.${name} does not say who this is about: eraseUser() will not find it, and memory keeps it to this thread. Name the person with subject`;
  if (!warned.has(name)) {
    warned.add(name);
    process.emitWarning(`holdfast: ${told}`);
  }
  return told;
}
