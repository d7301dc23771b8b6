import { assertCheckpointId } from "../driver/ids.ts";
import { Refusal } from "../server/request/refusal.ts";
import type { ValuePath } from "./api.ts";

/** One request that was let in, as its answer sees it. */
export class StudioRequest {
  /** The id in the path; empty where the route has none. */
  readonly thread: string;
  readonly signal: AbortSignal;
  readonly #query: URLSearchParams;
  readonly #body: Readonly<Record<string, unknown>>;

  constructor(thread: string, query: URLSearchParams, body: Readonly<Record<string, unknown>>, signal: AbortSignal) {
    this.thread = thread;
    this.#query = query;
    this.#body = body;
    this.signal = signal;
  }

  /** A text of the query; absent where it is empty. */
  text(name: string): string | undefined {
    const value = this.#query.get(name);
    return value === null || value === "" ? undefined : value;
  }

  count(name: string, otherwise: number, most: number): number {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    if (!/^\d{1,9}$/.test(text)) throw new Refusal("INVALID_ARGUMENT", `${name} must be a whole number`);
    return Math.min(Number(text), most);
  }

  checkpoint(name = "at"): string | undefined {
    const id = this.text(name);
    if (id !== undefined) assertCheckpointId(id);
    return id;
  }

  path(name = "path"): ValuePath {
    return pathFrom(parsed(this.text(name) ?? "[]", name), name);
  }

  namespace(): readonly string[] {
    const names = parsed(this.text("namespace") ?? "[]", "namespace");
    if (Array.isArray(names) && names.every((one) => typeof one === "string")) return names as string[];
    throw new Refusal("INVALID_ARGUMENT", "namespace must be a JSON list of texts");
  }

  /** A text of the body that has to be there. */
  given(name: string): string {
    const value = this.#body[name];
    if (typeof value === "string" && value !== "") return value;
    throw new Refusal("INVALID_ARGUMENT", `${name} must be a text that is not empty`);
  }

  /** A text of the body that may be left out. */
  maybe(name: string): string | undefined {
    const value = this.#body[name];
    if (value === undefined || value === "") return undefined;
    if (typeof value === "string") return value;
    throw new Refusal("INVALID_ARGUMENT", `${name} must be a text`);
  }

  flag(name: string): boolean {
    return this.#body[name] === true;
  }

  value(name: string): unknown {
    return this.#body[name];
  }

  pathGiven(name: string): ValuePath {
    return pathFrom(this.#body[name], name);
  }
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal("INVALID_ARGUMENT", `${name} must be JSON`);
  }
}

const LONGEST_PATH = 200;

function pathFrom(value: unknown, name: string): ValuePath {
  const isStep = (step: unknown): boolean => typeof step === "string" || (Number.isInteger(step) && Number(step) >= 0);
  if (Array.isArray(value) && value.length <= LONGEST_PATH && value.every(isStep)) return value as ValuePath;
  throw new Refusal("INVALID_ARGUMENT", `${name} must be a list of names and positions`);
}
