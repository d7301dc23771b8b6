/** For a process of its own, as `resolve.ts` is for vitest: `node --import ./test/wide/fallback.mjs` finds the packages of this folder too. */
import { register } from "node:module";

const hooks = `
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !/^[@a-z]/i.test(specifier)) throw error;
    return next(specifier, { ...context, parentURL: ${JSON.stringify(new URL("package.json", import.meta.url).href)} });
  }
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
