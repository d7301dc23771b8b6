import { BaseDriver } from "../../../src/driver/driver.ts";
import { StateError } from "../../../src/errors.ts";
import type { FullStoreDriver, Namespace, StoreDriverCapabilities } from "../../../src/store/driver/store-driver.ts";
import type { Fault } from "../fault.ts";

/** A deliberate fault of a driver and the cases that must notice it. */
export interface StoreFault extends Fault {
  /** The faulty driver, on top of a correct one. */
  readonly driver: (inner: FullStoreDriver) => ReferenceDriver;
}

/**
 * A correct driver on top of a correct one. Each faulty driver is this one with
 * one method gone wrong, so that a case that fails, fails for that reason.
 */
export class ReferenceDriver extends BaseDriver implements FullStoreDriver {
  readonly name = "reference";
  readonly #inner: FullStoreDriver;
  #isReachable = true;

  constructor(inner: FullStoreDriver) {
    super();
    this.#inner = inner;
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#inner.capabilities;
  }

  /** From now on every call fails; until it is given back. */
  async outage(): Promise<() => Promise<void>> {
    this.#isReachable = false;
    return async () => {
      this.#isReachable = true;
    };
  }

  async write(...given: Parameters<FullStoreDriver["write"]>): ReturnType<FullStoreDriver["write"]> {
    return this.reach().write(...given);
  }

  async read(...given: Parameters<FullStoreDriver["read"]>): ReturnType<FullStoreDriver["read"]> {
    return this.reach().read(...given);
  }

  async scan(...given: Parameters<FullStoreDriver["scan"]>): ReturnType<FullStoreDriver["scan"]> {
    return this.reach().scan(...given);
  }

  async namespaces(...given: Parameters<FullStoreDriver["namespaces"]>): ReturnType<FullStoreDriver["namespaces"]> {
    return this.reach().namespaces(...given);
  }

  async clear(...given: Parameters<FullStoreDriver["clear"]>): ReturnType<FullStoreDriver["clear"]> {
    return this.reach().clear(...given);
  }

  async searchText(...given: Parameters<FullStoreDriver["searchText"]>): ReturnType<FullStoreDriver["searchText"]> {
    return this.reach().searchText(...given);
  }

  async searchVector(
    ...given: Parameters<FullStoreDriver["searchVector"]>
  ): ReturnType<FullStoreDriver["searchVector"]> {
    return this.reach().searchVector(...given);
  }

  async readVector(...given: Parameters<FullStoreDriver["readVector"]>): ReturnType<FullStoreDriver["readVector"]> {
    return this.reach().readVector(...given);
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    return this.reach().dimension(below);
  }

  async now(): Promise<number> {
    return this.reach().now();
  }

  classify(): undefined {
    return undefined;
  }

  /** Other instances go on with the inner one. */
  async close(): Promise<void> {}

  protected reach(): FullStoreDriver {
    if (this.#isReachable) return this.#inner;
    throw new StateError("PERMISSION_DENIED", "the storage fails on purpose");
  }
}
