import { StateError } from "../errors.ts";

/** Loads an optional client package on first use; a missing one is named together with the command that installs it. */
export async function importPeer<Module>(name: string, range: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new StateError("MISSING_DEPENDENCY", `the package "${name}" is needed here: npm install "${name}@${range}"`, {
      cause,
    });
  }
}

/** A package that is there and fails while it loads has a trouble of its own, which must not be hidden behind this. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(name);
}
