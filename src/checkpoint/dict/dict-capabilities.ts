import type { Durability } from "../../driver/durability.ts";
import type { LogCapabilities } from "../log/thread-log.ts";
import type { DictStorage } from "./dict-storage.ts";

export interface DictLogOptions {
  readonly name: string;
  readonly durability: Durability;
  readonly maxRecordBytes: number;
}

export const dictCapabilities = (
  storage: DictStorage,
  { durability, maxRecordBytes }: DictLogOptions,
): LogCapabilities => ({
  durability,
  conditionalAppend: storage.compareAndSave !== undefined,
  listThreads: storage.list !== undefined,
  // A thread whose keys expired one by one would be torn.
  ttl: false,
  maxRecordBytes,
  maxChainRecords: 16,
});
