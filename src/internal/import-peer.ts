import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { StateError } from "../errors.ts";

let alsoLookIn: string | undefined;

/**
 * For the command line, which `npx` may run from another folder: packages of the
 * working directory are found as well.
 */
export function lookForPeersIn(directory: string): void {
  alsoLookIn = directory;
}

/**
 * Loads an optional client package on first use. If it is missing, the error names it
 * and the command that installs it. Imported by a variable, so that neither a type
 * check nor a bundler asks for packages that most users do not have; `load` is for
 * packages that belong in a bundle.
 */
export async function importPeer<Module>(
  name: string,
  range: string,
  load: () => Promise<Module> = () => import(name) as Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    const elsewhere = placeOf(name);
    if (elsewhere !== undefined) return (await import(elsewhere)) as Module;
    throw missing(name, range, cause);
  }
}

const missing = (name: string, range: string, cause: unknown): StateError =>
  new StateError("MISSING_DEPENDENCY", `the package "${name}" is needed here: npm install "${name}@${range}"`, {
    cause,
  });

/** For `require`, which cannot wait: refuses what is not installed, or in another version than is asked for. */
export function assertPeerIsHere(name: string, range: string): void {
  try {
    createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    if (isMissing(cause, name)) throw missing(name, range, cause);
  }
  assertPeerVersion(name, range);
}

/** The version of a package as it would be loaded; `undefined` where it is not there. */
export function peerVersion(name: string): string | undefined {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  for (const from of [import.meta.url, ...(alsoLookIn === undefined ? [] : [join(alsoLookIn, "package.json")])]) {
    for (const folder of createRequire(from).resolve.paths(name) ?? []) {
      try {
        const { version } = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")) as {
          version?: string;
        };
        if (version !== undefined) return version;
      } catch {
        // Not in this folder.
      }
    }
  }
  return undefined;
}

/** Refuses a package that is there in another version than is asked for. `range` is written as ">=1.1 <2". */
export function assertPeerVersion(name: string, range: string): void {
  const version = peerVersion(name);
  const [, least = "", below = ""] = /^>=([\d.]+) <([\d.]+)$/.exec(range) ?? [];
  if (version === undefined || (compared(version, least) >= 0 && compared(version, below) < 0)) return;
  throw tooOld(name, range, version);
}

/** `version`: where it is known. */
export const tooOld = (name: string, range: string, version = "that is too old"): StateError =>
  new StateError(
    "INCOMPATIBLE",
    `the package "${name}" is here in ${version.includes(" ") ? "a version" : "version"} ${version}, and ${range} is needed: npm install "${name}@${range}"`,
  );

/** Below 0 where the first version is the older one. What stands behind a hyphen is not looked at. */
function compared(version: string, other: string): number {
  const numbers = (text: string): readonly number[] => (text.split("-", 1)[0] ?? "").split(".").map(Number);
  const [own, others] = [numbers(version), numbers(other)];
  const at = [0, 1, 2].find((index) => (own[index] ?? 0) !== (others[index] ?? 0));
  return at === undefined ? 0 : (own[at] ?? 0) - (others[at] ?? 0);
}

function placeOf(name: string): string | undefined {
  if (alsoLookIn === undefined) return undefined;
  try {
    return pathToFileURL(createRequire(join(alsoLookIn, "package.json")).resolve(name)).href;
  } catch {
    return undefined;
  }
}

/** A package that is installed but fails to load has a problem of its own, which this error must not hide. */
export function isMissing(error: unknown, name: string): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(name);
}
