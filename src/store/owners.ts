import { subjectsIn } from "../state/people/subjects.ts";
import type { Namespace } from "./store-driver.ts";

/** Behind one of these segments of a namespace stands a person's id: so user data and memories lie. */
const OWNING: ReadonlySet<string> = new Set(["holdfast:users", "users"]);

/** The people that a whole item is about: it goes as a whole. */
export const ownersOf = (namespace: Namespace, metadata: Readonly<Record<string, unknown>>): readonly string[] => [
  ...subjectsIn(metadata["subject"]),
  ...namespace.filter((_, index) => OWNING.has(namespace[index - 1] ?? "")),
];
