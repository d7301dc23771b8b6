/** Bundles the package's JavaScript and its declarations: `tsx scripts/build-bundle.ts`, after tsc has written dist. */
import { join } from "node:path";
import { bundle, bundleDeclarations } from "./package/bundle.ts";
import { ROOT } from "./package/packed.ts";

const dist = join(ROOT, "dist");
const { files, atOnce } = await bundle(dist);
const declarations = await bundleDeclarations(dist);
// On stderr: npm pack prints JSON on stdout while this runs.
console.error(
  `The package: ${files} files of JavaScript, ${declarations} of declarations; import "holdfast" loads ${atOnce} modules from two of them`,
);
