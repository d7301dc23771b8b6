import { pathOfKey } from "./memory-path.ts";

export interface MemoryFile {
  readonly key: string;
  readonly text: string;
}

/** The model was taught these words. */
export function fileView(path: string, text: string, range?: readonly number[]): string {
  const lines = text.split("\n");
  if (lines.length > MOST_LINES) return `File ${path} exceeds maximum line limit of 999,999 lines.`;
  const [from = 1, to = -1] = range ?? [];
  const last = to === -1 ? lines.length : Math.min(to, lines.length);
  const first = Math.max(1, from);
  return `Here's the content of ${path} with line numbers:\n${numbered(lines, first, last)}`;
}

const MOST_LINES = 999_999;

export const numbered = (lines: readonly string[], first: number, last: number): string =>
  lines
    .slice(first - 1, last)
    .map((line, index) => `${String(first + index).padStart(6)}\t${line}`)
    .join("\n");

/** What is in a folder, two levels deep, with sizes. */
export function folderView(folder: string, files: readonly MemoryFile[]): string {
  const sizes = new Map<string, number>([[folder, 0]]);
  for (const { key, text } of files) {
    const inside = folder === "" ? key : key.slice(folder.length + 1);
    const segments = inside.split("/");
    if (segments.some((segment) => segment.startsWith(".") || segment === "node_modules")) continue;
    const size = Buffer.byteLength(text);
    sizes.set(folder, (sizes.get(folder) ?? 0) + size);
    for (const depth of [1, 2]) {
      if (segments.length < depth) continue;
      const shown = [...(folder === "" ? [] : [folder]), ...segments.slice(0, depth)].join("/");
      sizes.set(shown, (sizes.get(shown) ?? 0) + size);
    }
  }
  const entries = [...sizes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = entries.map(([key, size]) => `${readableSize(size)}\t${pathOfKey(key)}`);
  const head = `Here're the files and directories up to 2 levels deep in ${pathOfKey(folder)}, excluding hidden items and node_modules:`;
  return [head, ...lines].join("\n");
}

function readableSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)}K` : `${(bytes / 1024 ** 2).toFixed(1)}M`;
}
