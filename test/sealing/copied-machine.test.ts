import { afterAll, beforeAll, expect, test } from "vitest";
import { newOuterKey } from "../../src/sealing/keys/key-provider.ts";
import { Programs } from "../processes/programs.ts";

const PROGRAM = "copied-machine-program";
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.bundle(PROGRAM);
});
afterAll(() => programs.dispose());

interface Said {
  readonly places: readonly string[];
  readonly keys: string;
  readonly nonces: readonly string[];
}

test("two copies of a machine, whose randomness is the same, seal different texts in the same place with different nonces", async () => {
  const variable = `HOLDFAST_TEST_COPIED_${process.pid}`;
  process.env[variable] = newOuterKey();
  const run = async (text: string): Promise<Said> => {
    const program = programs.start(PROGRAM, [text, variable]);
    expect(await program.ended()).toEqual({ code: 0, signal: null });
    return program.said[0] as Said;
  };
  const [one, again, other] = await Promise.all([run("zebra 1"), run("zebra 1"), run("zebra 2")]);
  expect(again, "the copies are copies").toEqual(one);
  expect(other?.places, "the same keys, positions and write ids").toEqual(one?.places);
  expect(other?.keys).toBe(one?.keys);
  expect(one?.nonces.length).toBeGreaterThan(6);
  const nonces = [...(one?.nonces ?? []), ...(other?.nonces ?? [])];
  expect(new Set(nonces).size).toBe(nonces.length);
});
