import type { ThreadWarning } from "../../driver/warnings.ts";

/** How numbers, sizes and times are told to people. Programs get them as they are. */

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function sizeText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const countText = (count: number): string => count.toLocaleString("en-US");

export const plural = (count: number, noun: string): string => `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;

const STEPS: readonly (readonly [limit: number, ms: number, unit: string])[] = [
  [60_000, 1000, "s"],
  [3_600_000, 60_000, "min"],
  [86_400_000, 3_600_000, "h"],
  [30 * 86_400_000, 86_400_000, "d"],
];

/** "4 min ago"; after a month, the day. */
export function agoText(at: Date, now: number): string {
  const age = now - at.getTime();
  if (age < -1000) return at.toISOString();
  for (const [limit, ms, unit] of STEPS) if (age < limit) return `${Math.max(0, Math.floor(age / ms))} ${unit} ago`;
  return at.toISOString().slice(0, 10);
}

/** `30m`, `12h`, `7d` in milliseconds; `undefined` for anything else. */
export function durationOf(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,9})(s|m|h|d)$/.exec(text) ?? [];
  const ms = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit];
  return digits === undefined || ms === undefined ? undefined : Number(digits) * ms;
}

/** The trouble of one thread, beside a list or a report of the others. */
export const warningText = ({ threadId, code, message }: ThreadWarning): string =>
  `holdfast: ${threadId === undefined ? "" : `${threadId}: `}${code}: ${message}`;
