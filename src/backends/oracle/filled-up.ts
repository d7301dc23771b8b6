/** Repeats the first element until the next size is reached, so that few different statements are sent. */
export function filledUp<T>(given: readonly T[], sizes: readonly number[]): readonly T[] {
  const size = sizes.find((each) => each >= given.length) ?? given.length;
  const [first] = given;
  return first === undefined ? given : [...given, ...Array.from({ length: size - given.length }, () => first)];
}
