import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import type { LegalHold } from "../state/people/legal-hold.ts";
import type { BaseStore } from "../store/base-store.ts";
import type { ErasureParty, PersonalPlace } from "./erasure-party.ts";
import type { EraseOptions, ReplayedErasures, ResumeOptions } from "./erasure-run.ts";
import type { HoldRequest, LiftRequest, ListedHold } from "./hold-books.ts";
import type { PersonalDataWork } from "./personal-data-work.ts";
import {
  type ErasureKeys,
  type ErasureReceipt,
  type ErasureReport,
  erasureKeys,
  type RetentionReceipt,
  type Unreached,
} from "./receipts.ts";
import type { RetentionReport } from "./retention.ts";
import type { RetentionOptions, RetentionOutcome } from "./retention-rules.ts";

export interface InventoryPlace {
  readonly backend: string;
  readonly kind: PersonalPlace["kind"];
  /** The thread, or the namespace and the key of the item. */
  readonly where: string;
  /** How often; a value in several checkpoints counts in each. */
  readonly count: number;
}

export interface Inventory {
  readonly total: number;
  readonly places: readonly InventoryPlace[];
  readonly unreached: readonly Unreached[];
}

/** Everything that may hold personal data, once it is open. */
export interface OpenedBackends {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
  /** Further participants: an erasure visits them after the threads and stores, which may need them to be readable. */
  readonly others?: readonly ErasureParty[];
  readonly ledger: BaseStore;
}

export interface CorePersonalDataOptions {
  readonly key: string | Uint8Array;
  readonly now: () => number;
  readonly open: () => Promise<OpenedBackends>;
}

/**
 * Finds, hands out and erases what is about a person; `PersonalData` finds the backends by itself. Most programs never
 * do, so the work comes with the first use.
 */
export class CorePersonalData {
  readonly #keys: ErasureKeys;
  readonly #work: OpenOnce<PersonalDataWork>;

  constructor({ key, now, open }: CorePersonalDataOptions) {
    const keys = erasureKeys(key);
    this.#keys = keys;
    this.#work = new OpenOnce(async () => {
      const { PersonalDataWork } = await import("./personal-data-work.ts");
      return new PersonalDataWork({ keys, now, open });
    });
  }

  /** The key to verify receipts with: `faultInReceipts(receipts, publicKey)`. */
  get publicKey(): string {
    return this.#keys.publicKey;
  }

  /** Every receipt, in order. */
  async receipts(): Promise<readonly ErasureReceipt[]> {
    return (await this.#work.get()).receipts();
  }

  /** Where something about this person is stored. */
  async inventory(userId: string): Promise<Inventory> {
    return (await this.#work.get()).inventory(userId);
  }

  /** Everything about this person as lines of JSON; the first one describes the others. */
  async *exportUser(userId: string): AsyncGenerator<string, void, undefined> {
    yield* (await this.#work.get()).exportUser(userId);
  }

  eraseUser(userId: string, options: EraseOptions & { readonly dryRun: true }): Promise<ErasureReport>;
  eraseUser(userId: string, options?: EraseOptions): Promise<ErasureReceipt>;
  async eraseUser(userId: string, options?: EraseOptions): Promise<ErasureReport | ErasureReceipt> {
    return (await this.#work.get()).eraseUser(userId, options);
  }

  /** Finishes what was interrupted, and erases again what a restored backup brought back. */
  async resume(accepted?: ResumeOptions): Promise<readonly ErasureReceipt[]> {
    return (await this.#work.get()).resume(accepted);
  }

  /** The same, and says in which backends. */
  protected async broughtUp(accepted?: ResumeOptions): Promise<readonly ReplayedErasures[]> {
    return (await (await this.#work.get()).bringUp(accepted)).replayed;
  }

  /**
   * Takes what the rules no longer keep, and returns a receipt; with `dryRun`,
   * says what would go and why. What is under a legal hold stays and is named.
   */
  applyRetention(options: RetentionOptions & { readonly dryRun: true }): Promise<RetentionReport>;
  applyRetention(options: RetentionOptions): Promise<RetentionOutcome>;
  async applyRetention(options: RetentionOptions): Promise<RetentionReport | RetentionOutcome> {
    return (await this.#work.get()).applyRetention(options);
  }

  /** The receipts of retention, in order: a chain of their own. */
  async retentionReceipts(): Promise<readonly RetentionReceipt[]> {
    return (await this.#work.get()).retentionReceipts();
  }

  /** Keeps what is about a person, or threads, from being erased, deleted or vacuumed, in every backend and in the ledger. */
  async placeHold(request: HoldRequest): Promise<LegalHold> {
    return (await this.#work.get()).placeHold(request);
  }

  /** Lets go of what a hold keeps. The hold stays in the list. */
  async liftHold(id: string, request: LiftRequest): Promise<LegalHold> {
    return (await this.#work.get()).liftHold(id, request);
  }

  /** Every hold that was ever placed, and where one is missing. */
  async holds(): Promise<readonly ListedHold[]> {
    return (await this.#work.get()).holds();
  }
}
