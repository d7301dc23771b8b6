import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { describeProtocol } from "./openapi.ts";
import { OPERATIONS, ROUTES } from "./routes.ts";

interface Described {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { operationId: string; security: unknown[]; responses: object }>>>
  >;
  readonly components: { readonly schemas: object; readonly responses: object };
}

const described = describeProtocol() as unknown as Described;

test("every route is described once, with its access and its answers", () => {
  const operations = Object.values(described.paths).flatMap((methods) => Object.values(methods));
  expect(operations.map(({ operationId }) => operationId).sort()).toEqual([...OPERATIONS].sort());
  for (const operation of OPERATIONS) {
    const { method, path, access, answers } = ROUTES[operation];
    const found = described.paths[path]?.[method.toLowerCase()];
    expect(found?.operationId).toBe(operation);
    expect(found?.security).toHaveLength(access === "public" ? 0 : 1);
    for (const { status } of answers) expect(found?.responses).toHaveProperty(String(status));
  }
});

test("every reference leads to something that is described", () => {
  const references = [...JSON.stringify(described).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(50);
  for (const [, kind = "", name = ""] of references) expect(described.components).toHaveProperty([kind, name]);
});

test("no two routes answer the same request", () => {
  const requests = OPERATIONS.map(
    (operation) => `${ROUTES[operation].method} ${ROUTES[operation].path.replace(/\{\w+\}/g, "*")}`,
  );
  expect(new Set(requests).size).toBe(requests.length);
});

test("the description in docs is the one that the service gives", async () => {
  const text = await readFile(new URL("../../docs/reference/openapi.json", import.meta.url), "utf8");
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(described)));
});
