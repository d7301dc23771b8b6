import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { BaseDriver } from "../../driver/driver.ts";
import { Checkpointer } from "../checkpointer.ts";
import { LogLayer } from "./log-layer.ts";
import { BaseThreadLog, type ThreadLog } from "./thread-log.ts";

/** A driver that writes all that is required, and what it inherits: together the contract. */
const METHODS = [MemoryLog, BaseThreadLog, BaseDriver]
  .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
  .filter((name, at, all) => name !== "constructor" && all.indexOf(name) === at);

test.each(METHODS)("a driver without the method %s is refused, and the message names it", (name) => {
  const log = Object.assign(new MemoryLog(), { [name]: undefined });
  expect(() => new Checkpointer(log as unknown as ThreadLog)).toThrow(new RegExp(`lacks ${name}\\b`));
});

test("a driver that lacks only what BaseThreadLog supplies is told to extend it", () => {
  const own: Record<string, unknown> = { name: "own", capabilities: new MemoryLog().capabilities };
  for (const name of METHODS) if (!(name in BaseThreadLog.prototype)) own[name] = async () => undefined;
  expect(() => new Checkpointer(own as unknown as ThreadLog)).toThrow(/extends BaseThreadLog of holdfast\/driver/);
});

test("a layer forwards every method of the contract, so that none ends at the layer", () => {
  expect(METHODS.filter((name) => !Object.hasOwn(LogLayer.prototype, name))).toEqual([]);
});
