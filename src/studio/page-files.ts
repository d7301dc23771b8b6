import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { StateError } from "../errors.ts";

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly packed: Buffer;
  /** Names with a hash in them never mean anything else. */
  readonly isForever: boolean;
}

/** From the package and from a working copy alike. */
const BUILT = fileURLToPath(new URL("../../dist/studio/page/", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** The page, read once: a few small files, by the paths they are asked for with. What is large lies there packed, as `….gz`. */
export async function readPageFiles(folder: string = BUILT): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(folder).catch(() => [])) {
    const isPacked = name.endsWith(".gz");
    const asked = isPacked ? name.slice(0, -".gz".length) : name;
    const type = TYPES[extname(asked)];
    if (type === undefined) continue;
    const kept = await readFile(`${folder}/${name}`);
    const isForever = /-[A-Z0-9]{8}\.\w+$/.test(asked);
    files.set(asked === "index.html" ? "/" : `/${asked}`, {
      type,
      bytes: isPacked ? gunzipSync(kept) : kept,
      packed: isPacked ? kept : gzipSync(kept, { level: 9 }),
      isForever,
    });
  }
  if (files.has("/")) return files;
  throw new StateError("NOT_FOUND", "Studio's page is not built; in a working copy, run: npm run build:studio");
}
