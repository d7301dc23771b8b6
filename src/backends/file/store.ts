import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { KeyValueStoreDriver } from "../../store/key-value/driver.ts";
import { Store } from "../../store/store.ts";
import { FileBucket } from "./bucket.ts";
import { classify } from "./classify.ts";
import { checkedDirectory, RootDirectory } from "./root.ts";

export interface FileStoreOptions extends StoreOptions {
  /**
   * Where the items are kept, beside threads or alone. Created on first use if it does not
   * exist, unless `access` is "read". Any number of processes may share it.
   */
  readonly directory: string;
  /** The clock for timestamps and expiry. @default Date.now */
  readonly now?: () => number;
}

/** Keeps items as readable files. Nothing to install, nothing to run. */
export function fileStore(options: FileStoreOptions): Store {
  assertStoreOptions("fileStore", options, { directory: "string", now: "function" });
  const directory = checkedDirectory(options.directory, "fileStore");
  const { access = "write", now = Date.now } = options;
  const root = new RootDirectory(directory, access);
  const source = {
    name: "file",
    // Windows cannot sync a directory: a new name may be lost in a power failure.
    durability: process.platform === "win32" ? "os" : "fsync",
    open: async () => new FileBucket(root),
    classify,
  } as const;
  return new Store(new KeyValueStoreDriver(source, { prefix: "", access, clock: { now: async () => now() } }), options);
}

/** `file:./agents` */
export function openStoreUrl(url: string, options: StoreOptions = {}): Store {
  const { path, parameters } = parseLocalUrl(url);
  assertParameters(url, parameters, []);
  return fileStore({ ...options, directory: path });
}
