import { type ErrorCode, StateError } from "../errors.ts";
import { noStoreHere } from "./access.ts";
import { invalid } from "./options.ts";

/**
 * What a storage with a schema keeps for one facet: its tables, and how they
 * came to be. Each part has a version of its own, so that a program that uses
 * one part is never refused because another part moved on.
 */
export interface Part {
  /** A lower-case word: `checkpoints`. It is the key of the part's row in the table of versions. */
  readonly name: string;
  /**
   * The statements of each migration, in order; the version of a part is how many
   * were applied. One that was released is frozen text: it is never changed, and
   * whatever it would call is written out in it.
   */
  readonly migrations: readonly (readonly string[])[];
}

/** The version of each part that is there. */
export type Versions = Readonly<Record<string, number>>;

/** The table with a row for each part, in the storage's own language. */
export interface VersionTable {
  /** Makes the table. */
  readonly create: string;
  /** Notes the version of a part, whether or not it had one. */
  readonly write: (part: string, version: number) => string;
}

/** A storage whose tables can be brought up to date. */
export interface MigratedStore {
  readonly table: VersionTable;

  /** `undefined` where there is no table of versions. Changes and locks nothing. */
  versions(): Promise<Versions | undefined>;

  /** Whether this connection may create tables here. Asked before it is tried. */
  mayCreate(): Promise<boolean>;

  /**
   * Takes a lock that one process at a time holds, hands the versions that are
   * there by then to `plan`, and runs the statements it answers, in order and in
   * one transaction: all of them are done, or nothing, also when this process is
   * killed. Whoever finds the lock taken waits, or throws what may be retried.
   */
  change(plan: (found: Versions | undefined) => readonly string[]): Promise<void>;

  /** What to do where this connection may not create or change tables that have the versions `found`. */
  remedy(found: Versions | undefined): string;

  classify(error: unknown): ErrorCode | undefined;
}

/** Creates the parts, or brings older ones up to date; refuses those of a newer version. Safe in many processes at once. */
export async function migrate(store: MigratedStore, parts: readonly Part[]): Promise<void> {
  const found = await store.versions();
  if (migrationsFrom(found, parts, store.table).length === 0) return;
  if (!(await store.mayCreate())) throw mayNotChange(store, found, parts);
  try {
    await store.change((now) => migrationsFrom(now, parts, store.table));
  } catch (error) {
    if (store.classify(error) !== "PERMISSION_DENIED") throw error;
    throw mayNotChange(store, found, parts, error);
  }
}

/**
 * For read access, which migrates nothing: refuses parts that are not there, and
 * those of an older or a newer version. `where` says where they were looked for.
 */
export async function assertMigrated(store: MigratedStore, parts: readonly Part[], where: string): Promise<void> {
  const found = await store.versions();
  if (migrationsFrom(found, parts, store.table).length === 0) return;
  const [absent] = parts.filter(({ name }) => versionOf(found, name) === 0);
  if (absent !== undefined) throw noStoreHere(`${where} has no tables of "${absent.name}"`);
  throw new StateError(
    "INCOMPATIBLE",
    `${outdatedParts(found, parts)}. With access: "read" nothing is migrated: ${store.remedy(found)}`,
  );
}

/** The statements that bring the parts from the versions `found` up to date, in order. Empty where they are. */
export function migrationsFrom(
  found: Versions | undefined,
  parts: readonly Part[],
  table: VersionTable,
): readonly string[] {
  const changes = parts.flatMap(({ name, migrations }) => {
    const version = versionOf(found, name);
    assertKnown(name, version, migrations.length);
    if (version === migrations.length) return [];
    return [...migrations.slice(version).flat(), table.write(name, migrations.length)];
  });
  return found === undefined && changes.length > 0 ? [table.create, ...changes] : changes;
}

/** Those of the parts that a person named, or all; a name that is none is refused. */
export function partsNamed(names: readonly string[] | undefined, parts: readonly Part[]): readonly Part[] {
  if (names === undefined) return parts;
  for (const name of names) {
    if (parts.some((part) => part.name === name)) continue;
    throw invalid(`there is no part ${JSON.stringify(name)}; known: ${parts.map((known) => known.name).join(", ")}`);
  }
  return parts.filter(({ name }) => names.includes(name));
}

/** Versions that a person wrote down: refused unless each names a part and a version that it had. */
export function assertVersions(given: Versions, parts: readonly Part[]): void {
  for (const [name, version] of Object.entries(given)) {
    const part = parts.find((known) => known.name === name);
    if (part === undefined) {
      throw invalid(`there is no part ${JSON.stringify(name)}; known: ${parts.map((known) => known.name).join(", ")}`);
    }
    if (Number.isInteger(version) && version >= 0 && version <= part.migrations.length) continue;
    throw invalid(`the part "${name}" has the versions 0 to ${part.migrations.length}, not ${version}`);
  }
}

/** Of `found`, the parts that are known here: those of a newer build may stand beside them. */
export const knownVersions = (found: Versions, parts: readonly Part[]): Versions =>
  Object.fromEntries(Object.entries(found).filter(([name]) => parts.some((part) => part.name === name)));

const versionOf = (found: Versions | undefined, part: string): number =>
  found !== undefined && Object.hasOwn(found, part) ? (found[part] ?? 0) : 0;

function assertKnown(part: string, version: number, known: number): void {
  if (version <= known) return;
  throw new StateError(
    "INCOMPATIBLE",
    `the tables of "${part}" have version ${version}; this build knows up to ${known}. Upgrade holdfast to open them`,
  );
}

function mayNotChange(
  store: MigratedStore,
  found: Versions | undefined,
  parts: readonly Part[],
  cause?: unknown,
): StateError {
  const what = outdatedParts(found, parts);
  const message = `${what}, and this connection may not create or change them: ${store.remedy(found)}`;
  return new StateError("PERMISSION_DENIED", message, { cause });
}

function outdatedParts(found: Versions | undefined, parts: readonly Part[]): string {
  const outdated = parts.filter(({ name, migrations }) => versionOf(found, name) < migrations.length);
  const what = outdated.map(({ name, migrations }) => {
    const version = versionOf(found, name);
    if (version === 0) return `the tables of "${name}" are not there`;
    return `the tables of "${name}" have version ${version} and need ${migrations.length}`;
  });
  return what.join(", ");
}
