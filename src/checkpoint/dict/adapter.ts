import type { Durability } from "../../driver/durability.ts";
import { assertOptions } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import type { VacuumOptions, VacuumReport } from "../base-checkpointer.ts";
import { Checkpointer } from "../checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../context.ts";
import { assertDictStorage, type DictStorage } from "./dict-storage.ts";
import { DictLog } from "./log.ts";

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

const DURABILITIES: readonly Durability[] = ["memory", "os", "fsync", "replicated"];

/**
 * A checkpointer on any storage that keeps JSON objects under keys. Its
 * capabilities depend on the storage's methods: with `compareAndSave` many
 * processes may write one thread, without it only one at a time; with `list`
 * threads can be listed and searched.
 */
export class StorageBackendAdapter extends Checkpointer {
  readonly #log: DictLog;

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
    const log = new DictLog(storage, { name, durability, maxRecordBytes });
    super(log, options);
    this.#log = log;
  }

  /** Also removes what interrupted deletions and late writers left in the storage. */
  override async vacuum(options: VacuumOptions = {}): Promise<VacuumReport> {
    const report = await super.vacuum(options);
    if (!report.dryRun) await contextOf(this)?.call({ operation: "vacuum" }, () => this.#log.removeLeftovers());
    return report;
  }
}
