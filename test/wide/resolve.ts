import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const HERE = fileURLToPath(new URL("package.json", import.meta.url));

/** A package that `npm ci` leaves out is found among those of this folder, also where the product imports it by name. */
export function packagesOfWide(): Plugin {
  return {
    name: "packages of test/wide",
    enforce: "pre",
    async resolveId(source, importer, options) {
      if (!/^[@a-z]/i.test(source) || source.startsWith("node:") || importer === HERE) return undefined;
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      // Vite answers with a stub of its own for an optional peer that is not installed.
      if (found !== null && !found.id.startsWith("__vite-optional-peer-dep")) return found;
      return (await this.resolve(source, HERE, { ...options, skipSelf: true })) ?? found;
    },
  };
}
