/** Bundles the package's JavaScript: `tsx scripts/build-bundle.ts`, after tsc has written dist. */
import { join } from "node:path";
import { bundle } from "./package/bundle.ts";
import { ROOT } from "./package/packed.ts";

const { files, atOnce } = await bundle(join(ROOT, "dist"));
// On stderr: npm pack prints JSON on stdout while this runs.
console.error(`The package's JavaScript: ${files} files; import "holdfast" loads ${atOnce} modules from two of them`);
