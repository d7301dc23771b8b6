import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HEAD_BYTES, KEY_BYTES, newSalt, openBox, sealBox, sealInto } from "./box.ts";

const SALT_BYTES = 16;
const place = Buffer.from("a place");

describe("boxes that share a salt", () => {
  test("no two have the same nonce, and a salt serves for no more than 1,024", () => {
    const key = randomBytes(KEY_BYTES);
    const boxes = Array.from({ length: 3000 }, () => sealBox(key, Buffer.from("the same"), place));
    const heads = new Set(boxes.map((box) => box.toString("latin1", 0, SALT_BYTES + 12)));
    expect(heads.size).toBe(boxes.length);
    const uses = new Map<string, number>();
    for (const box of boxes) {
      const salt = box.toString("latin1", 0, SALT_BYTES);
      uses.set(salt, (uses.get(salt) ?? 0) + 1);
    }
    expect(Math.max(...uses.values())).toBeLessThanOrEqual(1024);
    // Their salts are no longer those that were derived last: each is derived anew.
    for (const box of boxes) expect(openBox(key, box, place)?.toString()).toBe("the same");
  });

  test("a box opens with its own key, in its own place, and with every bit as it was", () => {
    const [own, other] = [randomBytes(KEY_BYTES), randomBytes(KEY_BYTES)];
    const salt = newSalt();
    const box = sealBox(own, Buffer.from("mine"), place, salt);
    const beside = sealBox(other, Buffer.from("theirs"), place, salt);
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
      expect(sealInto(target, 3, key, plain, place, newSalt())).toBe(3 + HEAD_BYTES + bytes);
      expect([...target.subarray(0, 3), ...target.subarray(-2)]).toEqual([7, 7, 7, 7, 7]);
      expect(openBox(key, target.subarray(3, -2), place)).toEqual(plain);
    }
  });
});
