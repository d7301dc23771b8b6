import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { LogEntry } from "../log/thread-log.ts";
import { checksumOf } from "./record.ts";

type Entry = Omit<LogEntry, "header">;

const usual: Entry = { seq: 7, base: 1, head: 7, writeId: "w", checkpointId: "c", metadata: undefined };

const entries: readonly Entry[] = [
  usual,
  { ...usual, checkpointId: undefined, metadata: "" },
  { ...usual, seq: 0, base: 10, head: 2 ** 31 - 1 },
  { ...usual, seq: 2 ** 31, base: 2 ** 53, head: 99 },
  { ...usual, writeId: "\u{1f600} écrit", checkpointId: "e".repeat(1000), metadata: '{"ü":"\ud800"}' },
  { ...usual, names: ["one", "zwei ü"] },
];

const header = '{"format":1,"kind":"delta","who":"Ünsal \u{1f600}"';
const ending = ',"sum":"0123456789abcdef"}';

/** What is written down: numbers and lengths, then the texts, then the body. */
function expectedSum({ seq, base, head, writeId, checkpointId, metadata, names }: Entry, body: Uint8Array): string {
  const others = names === undefined ? "" : JSON.stringify(names);
  const lengths = [writeId.length, checkpointId?.length ?? "-", metadata?.length ?? "-", others.length, header.length];
  const text = [writeId, checkpointId ?? "", metadata ?? "", others, header].join("");
  const covered = `${[seq, base, head, ...lengths].join(" ")} ${text}`;
  return createHash("sha256").update(covered).update(body).digest("base64url").slice(0, 16);
}

test.each(entries.map((entry, index) => [index, entry] as const))(
  "the checksum covers all that entry %i says and its body, of any size, and not the checksum itself",
  (_, entry) => {
    for (const size of [0, 1, 1000, 100_000]) {
      const body = new Uint8Array(size).fill(0x61);
      const expected = expectedSum(entry, body);
      expect(checksumOf(entry, header, header.length, body)).toBe(expected);
      expect(checksumOf(entry, `${header}${ending}`, header.length, body)).toBe(expected);
    }
  },
);
