import { expect, test } from "vitest";
import { MapStorage, observed } from "../../../test/dict-storages.ts";
import { Documents } from "./documents.ts";

test("pages read lately are not asked for again, and not all of them are kept", async () => {
  const asked: string[] = [];
  const storage = observed(new MapStorage(), (call, key) => {
    if (call === "load") asked.push(key);
    return undefined;
  });
  const documents = new Documents(storage);
  const keys = Array.from({ length: 70 }, (_, page) => `page-${page}`);
  for (const [page, key] of keys.entries()) await documents.writePart("t", { key, content: { page, entries: [] } });
  for (const key of keys) await documents.readPart(key);
  expect(asked).toEqual(keys);
  await documents.readPart("page-69");
  expect(asked).toHaveLength(70);
  expect(await documents.readPart("page-0")).toMatchObject({ page: 0, entries: [] });
  expect(asked).toHaveLength(71);
});

test("a page that was deleted is not remembered", async () => {
  const documents = new Documents(new MapStorage());
  await documents.writePart("t", { key: "page", content: { page: 0, entries: [] } });
  await documents.readPart("page");
  await documents.deleteKey("page");
  expect(await documents.readPart("page")).toBeUndefined();
});
