import { type ErrorCode, StateError } from "../errors.ts";
import { noStoreHere } from "./access.ts";
import { invalid } from "./options.ts";

/**
 * The schema of one facet: its tables and the migrations that made them. Each
 * part has its own version, so a program that uses one part is not refused
 * because another part is newer.
 */
export interface Part {
  /** A lower-case word: `checkpoints`. It is the key of the part's row in the table of versions. */
  readonly name: string;
  /**
   * The statements of each migration, in order. A part's version is the number of
   * migrations that were applied. A released migration is frozen text: it never
   * changes, and it calls nothing that could change.
   */
  readonly migrations: readonly (readonly string[])[];
}

/** The version of each part that exists. */
export type Versions = Readonly<Record<string, number>>;

/** The table with a row for each part, in the storage's own language. */
export interface VersionTable {
  /** Makes the table. */
  readonly create: string;
  /** Records the version of a part, whether or not it had one before. */
  readonly write: (part: string, version: number) => string;
}

/** A storage whose tables can be migrated. */
export interface MigratedStore {
  readonly table: VersionTable;

  /** `undefined` if there is no table of versions. Changes and locks nothing. */
  versions(): Promise<Versions | undefined>;

  /** Whether this connection may create tables here. Asked before anything is tried. */
  mayCreate(): Promise<boolean>;

  /**
   * Takes a lock that one process at a time can hold, passes the versions found
   * under the lock to `plan`, and runs the statements it returns in one
   * transaction: all of them or nothing, also if this process is killed. A
   * process that finds the lock taken waits, or throws a retryable error.
   */
  change(plan: (found: Versions | undefined) => readonly string[]): Promise<void>;

  /** The advice for a connection that may not create or change tables whose versions are `found`. */
  remedy(found: Versions | undefined): string;

  classify(error: unknown): ErrorCode | undefined;
}

/** Creates the parts or migrates older ones; refuses newer ones. Safe when many processes start at once. */
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
 * For read access, which never migrates: refuses parts that are missing, older or
 * newer. `where` says where they were looked for.
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

/** The statements that migrate the parts from the versions `found`, in order. Empty if they are current. */
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

/** The parts that a person named, or all of them; an unknown name is refused. */
export function partsNamed(names: readonly string[] | undefined, parts: readonly Part[]): readonly Part[] {
  if (names === undefined) return parts;
  for (const name of names) {
    if (parts.some((part) => part.name === name)) continue;
    throw invalid(`there is no part ${JSON.stringify(name)}; known: ${parts.map((known) => known.name).join(", ")}`);
  }
  return parts.filter(({ name }) => names.includes(name));
}

/** Checks versions that a person typed: each must name a part and a version that it once had. */
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

/** The entries of `found` whose parts this build knows; a newer build may have added others. */
export const knownVersions = (found: Versions, parts: readonly Part[]): Versions =>
  Object.fromEntries(Object.entries(found).filter(([name]) => parts.some((part) => part.name === name)));

const versionOf = (found: Versions | undefined, part: string): number =>
  found !== undefined && Object.hasOwn(found, part) ? (found[part] ?? 0) : 0;

/** Refuses a version of a part that this build does not know. Asked again while a part is in use: another process may migrate it. */
export function assertKnown(part: string, version: number, known: number): void {
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
