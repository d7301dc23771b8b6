import { afterEach, beforeEach, expect, test } from "vitest";
import { OciStandIn } from "../../../test/oci-stand-in/stand-in.ts";
import { placeOn } from "../../../test/oci-stand-in/test-bucket.ts";
import { canary, fill, KEY, userOf } from "../../../test/session/people.ts";
import { PersonalData } from "../../wiring/personal-data.ts";
import { InMemoryStore } from "../memory/index.ts";
import { OciFailure } from "./classify.ts";
import { OCIBucketBackend } from "./index.ts";
import { deleteOlderVersions, type ObjectVersion } from "./older-versions.ts";

let standIn: OciStandIn;
beforeEach(async () => {
  standIn = await OciStandIn.start({ mostListed: 5, keepsVersions: true });
});
afterEach(() => standIn.close());

/** Of which people anything can be read, in any version of any object. */
const readable = (people: readonly number[], prefix = ""): readonly number[] => {
  const below = standIn.versions().filter(({ name }) => name.startsWith(prefix));
  return people.filter((person) => below.some(({ object }) => object?.bytes.includes(canary(person)) === true));
};

const denied = (kind: string): void => {
  standIn.faultAt = (request) =>
    request.kind === kind ? { when: "before", answer: { status: 404, code: "NotAuthorizedOrNotFound" } } : undefined;
};

test("an erasure deletes older versions of objects, and names those that the user may not list or delete", async () => {
  const own = new OCIBucketBackend(placeOn(standIn, "mine/"));
  const others = new OCIBucketBackend(placeOn(standIn, "theirs/"));
  for (const each of [own, others]) await fill(each, new InMemoryStore(), { set: async () => undefined }, 3);
  await own.delete("shared-2");
  const theirs = standIn.versions().filter(({ name }) => name.startsWith("theirs/"));
  const data = new PersonalData({ checkpointers: [own], ledger: new InMemoryStore(), key: KEY });
  denied("delete version");
  const first = await data.eraseUser(userOf(0));
  expect(first.places[0]?.remains[0]).toMatch(/^\d+ older versions of objects, which are locked, which this user/);
  denied("list versions");
  const second = await data.eraseUser(userOf(0));
  expect(second.places[0]?.remains[0]).toMatch(/this user may not list them \(OBJECT_INSPECT\)/);
  standIn.faultAt = () => undefined;
  const third = await data.eraseUser(userOf(1));
  expect(third.places[0]?.cleaned.join()).toMatch(/\d+ older versions of objects were deleted/);
  expect(third.places[0]?.remains).toEqual(["replicas of the bucket, and copies that rules of it made"]);
  // What lies outside the prefix belongs to another program.
  expect(standIn.versions().filter(({ name }) => name.startsWith("theirs/"))).toEqual(theirs);
  expect(readable([0, 1, 2], "mine/")).toEqual([2]);
  await others.close();
  for (const threadId of await own.listThreads()) expect((await own.verify(threadId))?.faults).toEqual([]);
  const fresh = new OCIBucketBackend(placeOn(standIn, "mine/"));
  expect((await fresh.load("shared-0"))?.messages.length).toBeGreaterThan(0);
  expect(await fresh.exists("shared-2")).toBe(false);
  await own.close();
  await fresh.close();
});

test("nothing of the erased people is readable in any version, and everything of the others is", async () => {
  const own = new OCIBucketBackend(placeOn(standIn));
  await fill(own, new InMemoryStore(), { set: async () => undefined }, 4);
  const data = new PersonalData({ checkpointers: [own], ledger: new InMemoryStore(), key: KEY });
  await data.eraseUser(userOf(0));
  await data.eraseUser(userOf(1));
  expect(readable([0, 1, 2, 3])).toEqual([2, 3]);
  await own.close();
});

const version = (name: string, versionId: string, isDeleteMarker = false): ObjectVersion => ({
  name,
  versionId,
  isDeleteMarker,
});

/** A bucket of these pages, and what was deleted of it. */
function bucketOf(pages: readonly (readonly ObjectVersion[])[], current: Readonly<Record<string, string>>) {
  const gone: string[] = [];
  const bucket = {
    listVersions: async (_: string, page: string | undefined) => {
      const at = Number(page ?? 0);
      return { versions: pages[at] ?? [], next: at + 1 < pages.length ? String(at + 1) : undefined };
    },
    currentVersion: async (name: string) => current[name],
    deleteVersion: async (name: string, versionId: string) => {
      if (!gone.includes(`${name}@${versionId}`)) gone.push(`${name}@${versionId}`);
      else throw new OciFailure("404", 404, "ObjectNotFound", undefined);
    },
  };
  return { bucket, gone };
}

test("the version that is the object now is kept wherever it stands, also one that came after the listing, and so are marks", async () => {
  const pages = [
    [version("a", "1"), version("b", "3", true), version("b", "2")],
    [version("b", "1"), version("c", "1"), version("c", "2")],
    [version("c", "3"), version("d", "1"), version("d", "2")],
  ];
  const { bucket, gone } = bucketOf(pages, { a: "1", c: "1", d: "9" });
  expect(await deleteOlderVersions(bucket, "")).toEqual({
    done: ["6 older versions of objects were deleted"],
    // The pages of this bucket stay as they were.
    remains: [expect.stringContaining("6 older versions of objects, which are locked")],
  });
  expect(gone.toSorted()).toEqual(["b@1", "b@2", "c@2", "c@3", "d@1", "d@2"]);
});

test("what the first look did not show is found by the next, and a writer that never stops does not keep it looking", async () => {
  let looks = 0;
  const { bucket, gone } = bucketOf([], { a: "0" });
  const growing = {
    ...bucket,
    listVersions: async () => ({ versions: [version("a", "0"), version("a", String(++looks))], next: undefined }),
  };
  await deleteOlderVersions(growing, "");
  expect(gone).toEqual(["a@1", "a@2", "a@3", "a@4", "a@5"]);
});

test("where versions come in no order of names, they are named in the receipt and left alone", async () => {
  const { bucket, gone } = bucketOf([[version("b", "1")], [version("a", "1")], [version("b", "2")]], { b: "2" });
  const { remains } = await deleteOlderVersions(bucket, "");
  expect([gone, remains]).toEqual([[], [expect.stringContaining("in the order of their names")]]);
});
