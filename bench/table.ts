/** Columns padded to their widest cell; the first one to the left, numbers to the right. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("  ");
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

export const milliseconds = (value: number): string => `${value.toFixed(value < 10 ? 3 : 1)} ms`;

export const kilobytes = (bytes: number): string =>
  bytes < 10_000_000 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;

export const times = (ratio: number): string => `${ratio.toFixed(2)}x`;
