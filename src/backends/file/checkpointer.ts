import { resolve } from "node:path";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertLocalPath, assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { FileLog } from "./log.ts";

export interface FileCheckpointerOptions extends CheckpointerOptions {
  /**
   * Where the threads are kept, one directory per thread. Created on first use if it
   * does not exist, unless `access` is "read". Any number of processes may share it.
   * A network file system must support hard links.
   */
  readonly directory: string;
}

/** Keeps threads as readable files. Nothing to install, nothing to run. */
export class FileCheckpointer extends Checkpointer {
  constructor(options: FileCheckpointerOptions) {
    assertOptions("FileCheckpointer", options, { directory: "string" });
    assertDirectory(options.directory);
    assertLocalPath(options.directory);
    // Resolved now, not when it is used first: the working directory may change.
    const directory = resolve(options.directory);
    const { access = "write" } = options;
    super(new FileLog({ directory, access }), options);
  }
}

/** `file:./threads` */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  const { path, parameters } = parseLocalUrl(url);
  assertParameters(url, parameters, []);
  return new FileCheckpointer({ ...options, directory: path });
}

function assertDirectory(directory: unknown): void {
  if (typeof directory === "string" && directory !== "" && !directory.includes("\0")) return;
  const example = 'new FileCheckpointer({ directory: "./threads" })';
  throw new StateError("INVALID_ARGUMENT", `the option "directory" must be a path, as in ${example}`);
}
