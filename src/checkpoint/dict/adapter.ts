import type { Durability } from "../../driver/durability.ts";
import { assertOptions } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import type { VacuumOptions, VacuumReport } from "../base-checkpointer.ts";
import { Checkpointer } from "../checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../context.ts";
import { DeferredLog } from "../log/deferred-log.ts";
import { type DictLogOptions, dictCapabilities } from "./dict-capabilities.ts";
import { assertDictStorage, type DictStorage } from "./dict-storage.ts";
import type { DictLog } from "./log.ts";

export interface StorageBackendAdapterOptions extends CheckpointerOptions {
  /** The word that errors begin with. @default "storage" */
  readonly name?: string;
  /**
   * What a returned `save` of the storage survives. Only you can know, and a
   * false promise is worse than no promise. @default "memory"
   */
  readonly durability?: Durability;
  /**
   * The largest record passed to the storage. It is part of a JSON document that
   * may be twice as large. @default 67108864
   */
  readonly maxRecordBytes?: number;
}

/** The log itself is loaded with the first call. The storage is closed with the adapter, used or not. */
function deferredLog(storage: DictStorage, options: DictLogOptions): DeferredLog<DictLog> {
  let log: DictLog | undefined;
  let isReleased = false;
  const load = async (): Promise<DictLog> => {
    const { DictLog } = await import("./log.ts");
    // A call that came before `close` and arrives after it must not close the storage once more.
    if (isReleased) throw new StateError("CLOSED", "the storage was closed");
    log = new DictLog(storage, options);
    return log;
  };
  const facts = { name: options.name, offers: [], capabilities: dictCapabilities(storage, options) };
  return new DeferredLog(facts, load, {
    release: async () => {
      isReleased = true;
      if (log === undefined) await storage.close?.();
    },
  });
}

const DURABILITIES: readonly Durability[] = ["memory", "os", "fsync", "replicated"];

/**
 * A checkpointer on any storage that keeps JSON objects under keys. Its
 * capabilities depend on the storage's methods: with `compareAndSave` many
 * processes may write one thread, without it only one at a time; with `list`
 * threads can be listed and searched.
 */
export class StorageBackendAdapter extends Checkpointer {
  readonly #log: DeferredLog<DictLog>;

  constructor(storage: DictStorage, options: StorageBackendAdapterOptions = {}) {
    assertDictStorage(storage);
    assertOptions("StorageBackendAdapter", options, {
      name: "string",
      durability: "string",
      maxRecordBytes: "number",
    });
    const { name = "storage", durability = "memory", maxRecordBytes = 64 * 1024 * 1024 } = options;
    if (!DURABILITIES.includes(durability)) {
      const message = `StorageBackendAdapter(): durability must be one of ${DURABILITIES.join(", ")}`;
      throw new StateError("INVALID_ARGUMENT", message);
    }
    const log = deferredLog(storage, { name, durability, maxRecordBytes });
    super(log, options);
    this.#log = log;
  }

  /** Also removes what interrupted deletions and late writers left in the storage. */
  override async vacuum(options: VacuumOptions = {}): Promise<VacuumReport> {
    const report = await super.vacuum(options);
    if (!report.dryRun)
      await contextOf(this)?.call({ operation: "vacuum" }, async () => (await this.#log.driver()).sweep());
    return report;
  }
}
