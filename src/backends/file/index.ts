import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { FileLog } from "./log.ts";

export { FileLog, type FileLogOptions } from "./log.ts";

export interface FileCheckpointerOptions extends CheckpointerOptions {
  /**
   * Where the threads are kept, each in a directory of its own. Made at first
   * use if it is not there. Any number of processes may share it; on a network
   * file system, only one that has hard links.
   */
  readonly directory: string;
}

/** Keeps threads as readable files. Nothing to install, nothing to run. */
export class FileCheckpointer extends Checkpointer {
  constructor(options: FileCheckpointerOptions) {
    assertOptions("FileCheckpointer", options, { directory: "string" });
    assertDirectory(options.directory);
    super(new FileLog(options), options);
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
