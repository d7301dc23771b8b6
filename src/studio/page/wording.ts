const NUMBER = new Intl.NumberFormat("en");
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export const numberText = (value: number): string => NUMBER.format(value);

export const plural = (count: number, noun: string): string => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

export const exactTime = (at: number): string => WHEN.format(at);

export function agoText(at: number, now: number = Date.now()): string {
  const ms = now - at;
  if (ms < 0) return exactTime(at);
  if (ms < 5000) return "just now";
  if (ms > 30 * 86_400_000) return DAY.format(at);
  return `${durationText(ms)} ago`;
}

/** An id that fits a line: its beginning is what people know it by. */
export const shortId = (id: string): string => (id.length > 14 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);
