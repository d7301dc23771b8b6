import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import {
  combinedKey,
  HEAD_BYTES,
  KEY_BYTES,
  keyOfBox,
  newKey,
  newRandomness,
  openBox,
  sealBox,
  sealInto,
} from "./box.ts";

const NONCE_BYTES = 24;
const place = Buffer.from("a place");
const nonceOf = (box: Buffer): string => box.toString("hex", 0, NONCE_BYTES);

afterEach(() => vi.restoreAllMocks());

describe("boxes", () => {
  test("are those of XAES-256-GCM: the vectors of its specification open", () => {
    const vectors = [
      { byte: 1, aad: "", sealed: "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271" },
      {
        byte: 3,
        aad: "c2sp.org/XAES-256-GCM",
        sealed: "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
      },
    ];
    for (const { byte, aad, sealed } of vectors) {
      const bytes = Buffer.from(sealed, "hex");
      const box = Buffer.concat([Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWX"), bytes.subarray(-16), bytes.subarray(0, -16)]);
      expect(openBox(Buffer.alloc(KEY_BYTES, byte), box, Buffer.from(aad))?.toString()).toBe("XAES-256-GCM");
    }
  });

  test("of the same text in the same place have different nonces, and each opens", () => {
    const key = randomBytes(KEY_BYTES);
    const boxes = Array.from({ length: 3000 }, () => sealBox(key, Buffer.from("the same"), place));
    expect(new Set(boxes.map(nonceOf)).size).toBe(boxes.length);
    for (const box of boxes) expect(openBox(key, box, place)?.toString()).toBe("the same");
  });

  test("where all randomness is the same, no two different texts or places share a nonce, however they are cut", () => {
    const key = randomBytes(KEY_BYTES);
    const random = Buffer.alloc(16);
    const sealed = (text: Uint8Array | string, at: Uint8Array, own: Uint8Array = key): Buffer =>
      sealBox(own, Buffer.from(text), at, random);
    const nonces = new Set<string>();
    const text = "abcabcabc";
    for (let cut = 0; cut <= text.length; cut++) {
      nonces.add(nonceOf(sealed(text.slice(cut), Buffer.from(text.slice(0, cut)))));
    }
    expect(nonces.size).toBe(text.length + 1);
    const long = Buffer.alloc(100_000, 7);
    for (const at of [0, 50_000, 99_999]) nonces.add(nonceOf(sealed(Buffer.from(long).fill(8, at), place)));
    expect(nonces.size, "of long texts").toBe(text.length + 4);
    const again = sealed("mine", place);
    expect(sealed("mine", place), "the very same text is the very same box").toEqual(again);
    expect(nonceOf(sealed("mine", place, randomBytes(KEY_BYTES)))).not.toBe(nonceOf(again));
  });

  test("a box opens with its own key, in its own place, and with every bit as it was", () => {
    const [own, other] = [randomBytes(KEY_BYTES), randomBytes(KEY_BYTES)];
    const box = sealBox(own, Buffer.from("mine"), place);
    const beside = sealBox(other, Buffer.from("theirs"), place);
    expect(openBox(own, box, place)?.toString()).toBe("mine");
    expect(openBox(own, beside, place)).toBeUndefined();
    expect(openBox(other, box, place)).toBeUndefined();
    expect(openBox(own, box, Buffer.from("another"))).toBeUndefined();
    for (let bit = 0; bit < box.byteLength * 8; bit++) {
      const changed = Buffer.from(box);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(openBox(own, changed, place), `bit ${bit}`).toBeUndefined();
    }
    for (let length = 0; length < HEAD_BYTES; length++)
      expect(openBox(own, box.subarray(0, length), place)).toBe(undefined);
  });

  test("a box is written where it belongs, and nothing around it is touched", () => {
    const key = randomBytes(KEY_BYTES);
    for (const bytes of [0, 1, 8191, 100_000]) {
      const plain = randomBytes(bytes);
      const target = Buffer.alloc(3 + HEAD_BYTES + bytes + 2, 7);
      expect(sealInto(target, 3, key, plain, place, newRandomness())).toBe(3 + HEAD_BYTES + bytes);
      expect([...target.subarray(0, 3), ...target.subarray(-2)]).toEqual([7, 7, 7, 7, 7]);
      expect(openBox(key, target.subarray(3, -2), place)).toEqual(plain);
    }
  });
});

describe("keys", () => {
  test("a key of another length seals and opens nothing: an empty key would protect nothing", () => {
    for (const bytes of [0, 16, KEY_BYTES - 1, KEY_BYTES + 1]) {
      const key = Buffer.alloc(bytes);
      expect(() => sealBox(key, Buffer.from("mine"), place)).toThrow(TypeError);
      expect(() => openBox(key, Buffer.alloc(100), place)).toThrow(TypeError);
    }
  });

  test("several make one that needs each of them in any order, and none make none", () => {
    const [one, two] = [
      { id: "one", key: randomBytes(KEY_BYTES) },
      { id: "two", key: randomBytes(KEY_BYTES) },
    ];
    expect(combinedKey([one, two])).toEqual(combinedKey([two, one]));
    expect(combinedKey([one])).toEqual(one.key);
    expect(combinedKey([one, two])).not.toEqual(one.key);
    expect(() => combinedKey([])).toThrow(TypeError);
  });

  test("a box reads as erased only where the destruction of one of its keys is known", () => {
    const one = { id: "one", key: randomBytes(KEY_BYTES) };
    expect(keyOfBox(["one"], new Map([["one", one]]))).toEqual(one.key);
    expect(
      keyOfBox(
        ["one", "two"],
        new Map([
          ["one", one],
          ["two", undefined],
        ] as const),
      ),
    ).toBeUndefined();
    expect(() => keyOfBox(["one", "two"], new Map([["one", one]]))).toThrow(TypeError);
    expect(() => keyOfBox([], new Map([["one", one]]))).toThrow(TypeError);
  });

  test("new keys for different names differ where all randomness is the same", () => {
    vi.spyOn(nodeCrypto(), "randomBytes").mockImplementation((size: number) => Buffer.alloc(size));
    expect(newKey(Buffer.from("ada"))).not.toEqual(newKey(Buffer.from("bob")));
    expect(newKey(Buffer.from("ada"))).toHaveLength(KEY_BYTES);
  });
});
