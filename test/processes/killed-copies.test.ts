import { afterAll, beforeAll, expect, test } from "vitest";
import { killCopies } from "./killed-copies.ts";
import { Programs } from "./programs.ts";
import { sharedOnDisk } from "./shared-storage.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.pack("copying-program");
});
afterAll(() => programs.dispose());

// At every driver call, from and to every backend: the campaign copy-killed.
test.each([
  ["file", "sqlite", []],
  ["sqlite", "file", ["--cut-over"]],
] as const)(
  "a copy from %s to %s that the system kills is whole when it is run again: %j",
  async (source, target, args) => {
    const [from, to] = [await sharedOnDisk(source), await sharedOnDisk(target)];
    const ends = { from: from.url, to: to.url };
    expect(await killCopies(programs, { ...ends, when: "during", args, at: [3, 9, 14] })).toBe(3);
    await from.dispose();
    await to.dispose();
  },
);
