import { readFile } from "node:fs/promises";
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
 * Loads an optional client package on first use. If it is missing, the error names
 * it and the command that installs it. Imported by a variable, so that neither a
 * type check nor a bundler asks for packages that most users do not have; `load`
 * is for those that belong into a bundle.
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
    throw new StateError("MISSING_DEPENDENCY", `the package "${name}" is needed here: npm install "${name}@${range}"`, {
      cause,
    });
  }
}

/** The version of a package as it would be loaded; `undefined` where it is not there. */
export async function peerVersion(name: string): Promise<string | undefined> {
  for (const from of [import.meta.url, ...(alsoLookIn === undefined ? [] : [join(alsoLookIn, "package.json")])]) {
    for (const folder of createRequire(from).resolve.paths(name) ?? []) {
      try {
        const { version } = JSON.parse(await readFile(join(folder, name, "package.json"), "utf8")) as {
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

function placeOf(name: string): string | undefined {
  if (alsoLookIn === undefined) return undefined;
  try {
    return pathToFileURL(createRequire(join(alsoLookIn, "package.json")).resolve(name)).href;
  } catch {
    return undefined;
  }
}

/** A package that is installed but fails to load has a problem of its own, which this error must not hide. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(name);
}
