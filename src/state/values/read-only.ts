/**
 * Freezing does not reach the content of a Map, a Set or a Date. A change in
 * place would look saved and be lost with the process. So the methods that change
 * them are replaced, on these instances alone; readers still see ordinary Maps,
 * Sets and Dates.
 */

const MAP_CHANGES = ["set", "delete", "clear"];
const SET_CHANGES = ["add", "delete", "clear"];
const DATE_CHANGES = Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith("set"));

export const sealMap = <T extends object>(map: T): T => Object.defineProperties(map, MAP_REFUSALS);
export const sealSet = <T extends object>(set: T): T => Object.defineProperties(set, SET_REFUSALS);
export const sealDate = (date: Date): Date => Object.defineProperties(date, DATE_REFUSALS);

const MAP_REFUSALS = refusals(MAP_CHANGES, "Map", "new Map(it)");
const SET_REFUSALS = refusals(SET_CHANGES, "Set", "new Set(it)");
const DATE_REFUSALS = refusals(DATE_CHANGES, "Date", "new Date(it)");

/** Not enumerable, so that comparing and printing are not affected. */
function refusals(names: readonly string[], kind: string, copy: string): PropertyDescriptorMap {
  const one = (name: string): PropertyDescriptor => ({
    enumerable: false,
    value: (): never => {
      throw new TypeError(
        `${name}() on a ${kind} that belongs to a state, which never changes: change a copy, ${copy}, and hand that to a with…() method`,
      );
    },
  });
  return Object.fromEntries(names.map((name) => [name, one(name)]));
}
