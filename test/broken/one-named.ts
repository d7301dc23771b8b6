/**
 * The one case of that name. Throws for a fault that names a case which no longer
 * exists.
 */
export function oneNamed<Case extends { readonly name: string }>(cases: readonly Case[], name: string): Case {
  const [found, ...others] = cases.filter((each) => each.name === name);
  if (found === undefined || others.length > 0)
    throw new Error(`${others.length + (found ? 1 : 0)} cases are called "${name}"`);
  return found;
}
