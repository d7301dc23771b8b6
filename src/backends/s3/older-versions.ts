import type { ScrubReport } from "../../driver/driver.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { isForbidden, isNotImplemented } from "./classify.ts";
import type { S3Module } from "./connect.ts";

interface VersionsAnswer {
  readonly Versions?: readonly { readonly Key?: string; readonly VersionId?: string; readonly IsLatest?: boolean }[];
  readonly IsTruncated?: boolean;
  readonly NextKeyMarker?: string;
  readonly NextVersionIdMarker?: string;
}

const WHAT = "older versions of objects, where the bucket keeps them";

/**
 * Deletes the versions of objects that were overwritten or deleted. The newest
 * version is kept, and so are delete markers: without a marker the version before it
 * would become the object again.
 */
export async function deleteOlderVersions(
  { sdk, bucketName: Bucket }: { readonly sdk: S3Module; readonly bucketName: string },
  prefix: string,
  send: (command: object) => Promise<unknown>,
): Promise<ScrubReport> {
  let [deleted, kept] = [0, 0];
  let from: object = {};
  for (;;) {
    let page: VersionsAnswer;
    try {
      page = (await send(new sdk.ListObjectVersionsCommand({ Bucket, Prefix: prefix, ...from }))) as VersionsAnswer;
    } catch (error) {
      if (isForbidden(error)) return notReached("this user may not list them (s3:ListBucketVersions)");
      if (isNotImplemented(error)) return notReached("the service cannot list them");
      throw error;
    }
    const older = (page.Versions ?? []).filter(({ IsLatest, VersionId }) => IsLatest === false && VersionId);
    await inParallel(older, async ({ Key, VersionId }) => {
      try {
        await send(new sdk.DeleteObjectCommand({ Bucket, Key, VersionId }));
        deleted++;
      } catch (error) {
        if (!isForbidden(error)) throw error;
        kept++;
      }
    });
    if (page.IsTruncated !== true) break;
    from = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
  }
  const done = deleted === 0 ? [] : [`${deleted} older versions of objects were deleted`];
  const refused = `${kept} older versions of objects, which are locked or which this user may not delete (s3:DeleteObjectVersion)`;
  return { done, remains: kept === 0 ? [] : [refused] };
}

const notReached = (why: string): ScrubReport => ({ done: [], remains: [`${WHAT}: ${why}`] });
