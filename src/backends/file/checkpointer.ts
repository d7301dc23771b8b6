import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { FileLog } from "./log.ts";
import { checkedDirectory } from "./root.ts";

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
    const directory = checkedDirectory(options.directory, "new FileCheckpointer");
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
