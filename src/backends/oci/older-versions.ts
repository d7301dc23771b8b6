import type { ScrubReport } from "../../driver/driver.ts";
import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { OciFailure } from "./classify.ts";

/** One version of an object, or the mark that a deletion left. */
export interface ObjectVersion {
  readonly name: string;
  readonly versionId: string;
  readonly isDeleteMarker?: boolean;
}

export interface VersionsPage {
  readonly versions: readonly ObjectVersion[];
  readonly next: string | undefined;
}

/** What is asked of a bucket that keeps versions. Failures are thrown as the client threw them. */
export interface VersionedBucket {
  listVersions(prefix: string, page: string | undefined): Promise<VersionsPage>;
  /** The version that is the object now; `undefined` where the object is deleted. */
  currentVersion(name: string): Promise<string | undefined>;
  deleteVersion(name: string, versionId: string): Promise<void>;
}

/** A program that keeps writing keeps making new ones. */
const MOST_LOOKS = 5;
const WHAT = "older versions of objects, where the bucket keeps them";

/**
 * Deletes the versions of objects that were overwritten or deleted. A listing does
 * not say which version is the object now, so the object itself is asked, after it
 * was listed: a version that another one has replaced never is the object again.
 * Marks of deletions stay: without one, the version before it would be the object.
 */
export async function deleteOlderVersions(bucket: VersionedBucket, prefix: string): Promise<ScrubReport> {
  const counts = { deleted: 0, kept: 0 };
  try {
    // What is deleted while pages are read may move the next one: it is looked again until nothing is found.
    for (let [looks, before] = [1, -1]; looks <= MOST_LOOKS && before !== counts.deleted; looks++) {
      [before, counts.kept] = [counts.deleted, 0];
      for await (const versions of versionsByName(bucket, prefix)) {
        await inParallel(versions, (ofOne) => deleteOlder(bucket, ofOne, counts));
      }
    }
  } catch (error) {
    if (!StateError.is(error, "UNSUPPORTED")) throw error;
    return { done: doneOf(counts), remains: [`${WHAT}: ${error.message}`] };
  }
  const { kept } = counts;
  const refused = `${kept} older versions of objects, which are locked, which this user may not delete (OBJECT_VERSION_DELETE), or which another process has just deleted`;
  return { done: doneOf(counts), remains: kept === 0 ? [] : [refused] };
}

interface Counts {
  deleted: number;
  kept: number;
}

const doneOf = ({ deleted }: Counts): readonly string[] =>
  deleted === 0 ? [] : [`${deleted} older versions of objects were deleted`];

/** Page by page, all versions of a name together. */
async function* versionsByName(
  bucket: VersionedBucket,
  prefix: string,
): AsyncGenerator<readonly (readonly ObjectVersion[])[]> {
  let page: string | undefined;
  let unfinished: readonly ObjectVersion[] = [];
  let before = "";
  do {
    const found = await listed(bucket, prefix, page);
    page = found.next;
    const groups = grouped([...unfinished, ...found.versions], before);
    // The versions of the last name may go on in the next page.
    unfinished = page === undefined ? [] : (groups.pop() ?? []);
    before = groups.at(-1)?.[0]?.name ?? before;
    yield groups;
  } while (page !== undefined);
}

async function listed(bucket: VersionedBucket, prefix: string, page: string | undefined): Promise<VersionsPage> {
  try {
    return await bucket.listVersions(prefix, page);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new StateError("UNSUPPORTED", "this user may not list them (OBJECT_INSPECT)", { cause: error });
  }
}

async function deleteOlder(bucket: VersionedBucket, versions: readonly ObjectVersion[], counts: Counts): Promise<void> {
  for (const { name, versionId } of await olderOf(bucket, versions)) {
    try {
      await bucket.deleteVersion(name, versionId);
      counts.deleted++;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      counts.kept++;
    }
  }
}

/** Whatever is not the object itself, and no mark. */
async function olderOf(bucket: VersionedBucket, versions: readonly ObjectVersion[]): Promise<readonly ObjectVersion[]> {
  const [first] = versions;
  const contents = versions.filter(({ isDeleteMarker }) => isDeleteMarker !== true);
  // The only version of an object that has no mark is the object.
  if (first === undefined || contents.length === 0 || versions.length === 1) return [];
  const current = await bucket.currentVersion(first.name);
  return contents.filter(({ versionId }) => versionId !== current);
}

/** Names come in the order of their bytes. In any other order the versions of one could be taken for all of them. */
function grouped(versions: readonly ObjectVersion[], before: string): ObjectVersion[][] {
  const groups: ObjectVersion[][] = [];
  let last = before;
  for (const version of versions) {
    const group = groups.at(-1);
    if (group?.[0]?.name === version.name) group.push(version);
    else if (Buffer.compare(Buffer.from(version.name), Buffer.from(last)) > 0) groups.push([version]);
    else throw new StateError("UNSUPPORTED", "the service does not list them in the order of their names");
    last = version.name;
  }
  return groups;
}

/** The service answers 404 where a permission is missing, and 409 or 412 where a rule keeps the version. */
const isForbidden = (error: unknown): boolean =>
  error instanceof OciFailure && [401, 403, 404, 409, 412].includes(error.status ?? 0);
