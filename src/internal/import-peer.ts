import { StateError } from "../errors.ts";

/** Loads an optional client package on first use; a missing one is named together with the command that installs it. */
export async function importPeer<Module>(name: string, range: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw new StateError("MISSING_DEPENDENCY", `the package "${name}" is needed here: npm install "${name}@${range}"`, {
      cause,
    });
  }
}
