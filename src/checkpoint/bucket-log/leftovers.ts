import { inParallel } from "../../internal/concurrency.ts";
import { sweepFolder } from "./finishing.ts";
import { isThreadName } from "./layout.ts";
import type { ThreadStore } from "./thread-store.ts";

/**
 * Goes through the whole prefix: first the folders, whose objects may no longer
 * belong to any document; then the documents that only list what is to be
 * deleted. Announced copies are left alone, because they may be under way.
 */
export async function removeLeftovers(store: ThreadStore): Promise<void> {
  const { records, documents } = store.layout;
  for await (const folders of store.bucket.list({ prefix: records, delimiter: "/" })) {
    const names = folders.map((folder) => folder.slice(records.length, -1)).filter(isThreadName);
    for (const name of names) await sweepFolder(store, name);
  }
  for await (const objects of store.bucket.list({ prefix: documents })) {
    const names = objects.map((object) => object.slice(documents.length)).filter(isThreadName);
    await inParallel(names, (name) => discardEmpty(store, name));
  }
}

async function discardEmpty(store: ThreadStore, name: string): Promise<void> {
  const found = await store.loadNamed(name);
  const { document } = found;
  if (document === undefined || document.thread !== undefined || document.copying.length > 0) return;
  await sweepFolder(store, name);
  await store.discard(document.threadId, found);
}
