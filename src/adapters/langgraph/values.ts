import { types } from "node:util";
import { load } from "@langchain/core/load";
import * as langgraph from "@langchain/langgraph-checkpoint";
import { tooOld } from "../../internal/import-peer.ts";
import { unsaidByLangChain } from "../../saver/values/graph-placeholders.ts";
import {
  type ForeignValues,
  LateText,
  type Packed,
  Packer,
  type PackPart,
  packedList,
  tagged,
} from "../../saver/values/packing.ts";
import { FOREIGN_TAGS, type ForeignReader } from "../../saver/values/unpacking.ts";
import { type Redactor, redactText } from "../../state/secrets.ts";
import { refusal } from "../../state/values/doorway.ts";
import type { Place } from "../../state/values/path.ts";
import { isJsonObject, type JsonValue, mapJson } from "../../state/values/tags.ts";
import { assertKeptByJson } from "./json-losses.ts";
import { LANGGRAPH_RANGE } from "./peers.ts";

// A bundle holds whatever version was there. Delta channels came with the oldest one that will do.
if (typeof langgraph.isDeltaSnapshot !== "function") throw tooOld("@langchain/langgraph-checkpoint", LANGGRAPH_RANGE);

/**
 * How the values of a graph are written. Plain data goes through our own codec,
 * which keeps Dates, BigInts, NaN and bytes and is deceived by nothing. Instances
 * of LangChain's classes (messages) go through LangGraph's serialiser, so that
 * they come back as what they were.
 */
const { langchain: LANGCHAIN_TAG, delta: DELTA_TAG, regexp: REGEXP_TAG, error: ERROR_TAG } = FOREIGN_TAGS;

const ERRORS: ReadonlyMap<unknown, new (message: string) => Error> = new Map(
  [Error, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError].map((made) => [
    made.prototype,
    made,
  ]),
);

/** What a class instance may be to this package. */
interface Instance {
  readonly lg_name?: unknown;
  readonly lc_serializable?: unknown;
  readonly toJSON?: unknown;
}

export const isLangChainObject = (value: object): boolean => (value as Instance).lc_serializable === true;

export class GraphValues implements ForeignValues {
  readonly #serde: langgraph.SerializerProtocol;
  readonly #redactor: Redactor | undefined;
  /** What must be over before the values can be written. */
  readonly pending: Promise<void>[] = [];

  constructor(serde: langgraph.SerializerProtocol, redactor?: Redactor) {
    this.#serde = serde;
    this.#redactor = redactor;
  }

  pack(value: object, place: Place, pack: PackPart): Packed | undefined {
    const { lg_name, toJSON } = value as Instance;
    if (langgraph.isDeltaSnapshot(value)) return tagged(DELTA_TAG, pack(value.value, "value"));
    if (lg_name === "Send") return packSend(value as SendLike, pack);
    if ((lg_name === "Command" || lg_name === "Overwrite") && typeof toJSON === "function") {
      return pack(toJSON.call(value));
    }
    if (isLangChainObject(value)) return this.#packSerializable(value, place);
    if (types.isRegExp(value)) {
      const source = this.#redactor === undefined ? value.source : redactText(value.source, this.#redactor);
      return tagged(REGEXP_TAG, JSON.stringify([source, value.flags]));
    }
    if (types.isNativeError(value)) return packError(value, pack);
    // As LangGraph has it: an object of a class of yours is kept as plain data.
    return typeof toJSON === "function" || isExotic(value) ? undefined : pack({ ...value });
  }

  #packSerializable(value: object, place: Place): LateText {
    assertKeptByJson(value, place);
    const late = new LateText();
    const dumping = this.#serde.dumpsTyped(value).then(([type, bytes]) => {
      const json = new TextDecoder().decode(bytes);
      if (type !== "json" || json.startsWith('"'))
        throw refusal(place, "what LangGraph's serialiser cannot write down");
      const clean = this.#redactor === undefined ? json : redactedEnvelope(json, this.#redactor);
      late.text = `{"$":"${LANGCHAIN_TAG}","v":${clean}}`;
    });
    // The caller that awaits the write gets the error.
    dumping.catch(() => undefined);
    this.pending.push(dumping);
    return late;
  }
}

/** What LangChain wrote, with every text as the redactor leaves it but those that name a class, a role or a call. */
function redactedEnvelope(json: string, redactor: Redactor): string {
  const walk = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return redactText(value, redactor);
    const unsaid = isJsonObject(value) ? unsaidByLangChain(value) : undefined;
    return mapJson(value, (each, key) => (unsaid?.has(String(key)) === true ? each : walk(each)));
  };
  return JSON.stringify(walk(JSON.parse(json) as JsonValue));
}

interface SendLike {
  readonly node: string;
  readonly args: unknown;
  readonly timeout?: unknown;
}

/** Comes back as plain data, which LangGraph takes for a Send. Its arguments often hold the whole state. */
function packSend({ node, args, timeout }: SendLike, pack: PackPart): Packed {
  const packer = new Packer().add('{"node":').add(pack(node, "node")).add(',"args":').add(pack(args, "args"));
  if (timeout !== undefined) packer.add(',"timeout":').add(pack(timeout, "timeout"));
  return packer.add("}").done();
}

/** The errors of the language, with their message and stack. Others would come back as something else. */
function packError(error: Error, pack: PackPart): Packed | undefined {
  const made = ERRORS.get(Object.getPrototypeOf(error));
  const hasMore = Reflect.ownKeys(error).some((key) => key !== "message" && key !== "stack");
  return made === undefined || hasMore
    ? undefined
    : tagged(
        ERROR_TAG,
        new Packer()
          .add(`[${JSON.stringify(made.name)},`)
          .add(pack(error.message, "message"))
          .add(",")
          .add(pack(error.stack ?? "", "stack"))
          .add("]")
          .done(),
      );
}

const isExotic = (value: object): boolean =>
  ArrayBuffer.isView(value) ||
  types.isAnyArrayBuffer(value) ||
  types.isBoxedPrimitive(value) ||
  types.isPromise(value) ||
  types.isDate(value) ||
  types.isMap(value) ||
  types.isSet(value) ||
  types.isWeakMap(value) ||
  types.isWeakSet(value) ||
  types.isGeneratorObject(value) ||
  typeof (value as { [Symbol.iterator]?: unknown })[Symbol.iterator] === "function";

/** Reads what `GraphValues` wrote. */
export class GraphValueReader implements ForeignReader {
  readonly #serde: langgraph.SerializerProtocol;

  constructor(serde: langgraph.SerializerProtocol) {
    this.#serde = serde;
  }

  reads(tag: string): boolean {
    return tag === LANGCHAIN_TAG || tag === DELTA_TAG || tag === REGEXP_TAG || tag === ERROR_TAG;
  }

  /** The serialiser's own additions to JSON are marked with "lc":2. Without one, what it does is this `load`, after two more passes. */
  revive(_: string, json: string): Promise<unknown> {
    return json.includes('"lc":2') ? this.#serde.loadsTyped("json", json) : load(json);
  }

  wrapper(tag: string): ((value: unknown) => unknown) | undefined {
    switch (tag) {
      case DELTA_TAG:
        return (value) => new langgraph.DeltaSnapshot(value);
      case REGEXP_TAG:
        return (value) => new RegExp(...(value as [string, string]));
      case ERROR_TAG:
        return reviveError;
      default:
        return undefined;
    }
  }
}

function reviveError(value: unknown): Error {
  const [name, message, stack] = value as [string, string, string];
  const made = [...ERRORS.values()].find((each) => each.name === name) ?? Error;
  return Object.defineProperty(new made(message), "stack", { value: stack, writable: true, configurable: true });
}

/**
 * Values through a serialiser of the user's, one that encrypts for instance:
 * nothing is written that did not go through it. A list goes element by element,
 * so that elements that were seen before cost nothing.
 */
export class CustomValues {
  readonly #serde: langgraph.SerializerProtocol;
  readonly pending: Promise<void>[] = [];

  constructor(serde: langgraph.SerializerProtocol) {
    this.#serde = serde;
  }

  pack(value: unknown): Packed {
    return Array.isArray(value) && value.length > 0
      ? packedList(value.map((item) => this.#dump(item)))
      : this.#dump(value);
  }

  #dump(value: unknown): LateText {
    const late = new LateText();
    const dumping = this.#serde.dumpsTyped(value).then(([type, bytes]) => {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
      late.text = `{"$":"${FOREIGN_TAGS.serde}","v":${JSON.stringify([type, data])}}`;
    });
    dumping.catch(() => undefined);
    this.pending.push(dumping);
    return late;
  }
}

export class CustomValueReader implements ForeignReader {
  readonly #serde: langgraph.SerializerProtocol;

  constructor(serde: langgraph.SerializerProtocol) {
    this.#serde = serde;
  }

  reads(tag: string): boolean {
    return tag === FOREIGN_TAGS.serde;
  }

  async revive(_: string, json: string): Promise<unknown> {
    const [type, data] = JSON.parse(json) as [string, string];
    return this.#serde.loadsTyped(type, new Uint8Array(Buffer.from(data, "base64")));
  }

  wrapper(): undefined {
    return undefined;
  }
}
