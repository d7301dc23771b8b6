import { StateError } from "../errors.ts";
import type { PersonItem } from "./key-shelf.ts";

/** The name of a person's key: its owner, its number among that person's keys, and a nonce. */
export const nameOfKey = (token: string, { number, nonce }: Pick<PersonItem, "number" | "nonce">): string =>
  `${token}.${number}.${nonce}`;

export function partsOfId(id: string): { readonly token: string; readonly number: number } {
  const [token = "", number] = id.split(".");
  return { token, number: Number(number) };
}

/**
 * Whether a person's item tells what became of the key of that name: it is this one, or
 * was destroyed. An older copy of the keyring, which never had it, may have given the
 * person another one of the same number.
 */
export function knowsKey(item: PersonItem, id: string): boolean {
  const { token, number } = partsOfId(id);
  return item.number > number || (item.number === number && (item.key === null || nameOfKey(token, item) === id));
}

/** This key is damaged, or its master key is missing; every other key still opens. */
export const isOneKeysTrouble = (error: unknown): error is StateError =>
  StateError.is(error) && (error.code === "CORRUPT" || error.context.keyId !== undefined);
