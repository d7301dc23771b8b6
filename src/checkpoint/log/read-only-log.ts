import { readOnlyAccess } from "../../driver/access.ts";
import { type ScrubReport, unsupported } from "../../driver/driver.ts";
import { LogLayer } from "./log-layer.ts";
import type { AppendOutcome, FoundRecords, LogCapabilities, ThreadLog } from "./thread-log.ts";

/**
 * A log that can be read but not changed, which `access: "read"` puts in front of every
 * driver. A write is refused here, before it reaches the driver. What a driver does to
 * its storage while opening is the driver's own duty, because no layer sees that.
 *
 * Indexing writes. An index that is deferred may lack the newest records, so there
 * is no search here and threads are scanned instead: slower, but complete. An
 * index that is maintained within `append` is used.
 */
export class ReadOnlyLog extends LogLayer {
  protected override capabilitiesOver({ search, ...below }: LogCapabilities): LogCapabilities {
    return search === "with words" ? { ...below, search } : below;
  }

  override async append(): Promise<AppendOutcome> {
    throw readOnlyAccess();
  }

  override async remove(): Promise<"removed" | "absent" | "moved"> {
    throw readOnlyAccess();
  }

  override async copy(): Promise<"copied" | "no source" | "target exists"> {
    throw readOnlyAccess();
  }

  override async search(...given: Parameters<ThreadLog["search"]>): Promise<FoundRecords> {
    if (this.capabilities.search === undefined) throw unsupported("search");
    return super.search(...given);
  }

  override async catchUp(): Promise<void> {}

  override async scrub(): Promise<ScrubReport> {
    throw readOnlyAccess();
  }
}
