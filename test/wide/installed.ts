import { existsSync } from "node:fs";

/**
 * Whether `npm run wide:install` was run: old majors of clients, other people's SDKs and parsers are for
 * `npm run test:all` alone, so that `npm ci` stays light.
 */
export const wideIsInstalled: boolean = existsSync(new URL("node_modules", import.meta.url));

/** What a file of this folder exports, or `otherwise` where its packages are not installed. */
export async function fromWide<T>(file: string, name: string, otherwise: T): Promise<T> {
  if (!wideIsInstalled) return otherwise;
  const exported: Readonly<Record<string, T>> = await import(new URL(file, import.meta.url).href);
  return exported[name] ?? otherwise;
}
