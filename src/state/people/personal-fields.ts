import type { StateFields } from "../fields.ts";
import type { Message } from "../message.ts";
import { isPlainObject } from "../values/doorway.ts";
import {
  becomes,
  content,
  count,
  date,
  emptied,
  flag,
  type Kept,
  type KeptOf,
  leftOut,
  type Members,
  name,
  oneOf,
  type Rule,
  type RuleOf,
  type RulesOf,
  text,
  yes,
} from "./field-rule.ts";
import { ERASED } from "./subjects.ts";

/**
 * The one list of all that is stored: for each field, what becomes of it when a person is erased. Erasing, sealing,
 * exports and inventories go by it through one walker, so that what the one takes, the others show and seal. A field
 * that gets no row does not compile.
 */

const id: KeptOf<string> = name("an id, by which it is found; docs/personal-data.md asks to keep names out of ids");
const toolName: KeptOf<string> = name("the name of a tool of the program");
const time: KeptOf<number> = count("a time");
const moment: KeptOf<Date> = date("a time");
const total: KeptOf<number> = count("counts what the program did");

/** An erasure takes it; a redactor leaves it, because an erasure finds by it what it takes. */
const whom: Kept = {
  kept: "the id of a person",
  is: (value) => typeof value === "string" || (Array.isArray(value) && value.every((each) => typeof each === "string")),
};
const besideWhom: Rule = { own: { subject: whom }, others: emptied };

/** What all messages have. In the place of their metadata stands that they were erased, and what marks them as ours. */
const SAID = {
  id,
  content: text,
  metadata: {
    without: (metadata: unknown) => ({ ...(isPlainObject(metadata) && marksIn(metadata)), erased: true }),
    redacted: besideWhom,
  },
  providerMetadata: leftOut,
} as const;

const MARKS: Readonly<Record<string, Kept>> = {
  "holdfast.repair": yes("the agent itself asked the model for something"),
  "holdfast.summary": yes("it stands for messages that are not shown"),
};

const marksIn = (metadata: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(metadata).filter(([mark, value]) => MARKS[mark]?.is(value) === true));

type Role<R extends Message["role"]> = { readonly fields: RulesOf<Extract<Message, { readonly role: R }>> };

const MESSAGE: { readonly by: "role"; readonly variants: { readonly [R in Message["role"]]: Role<R> } } = {
  by: "role",
  variants: {
    system: { fields: { role: oneOf({ system: true }), ...SAID } },
    user: { fields: { role: oneOf({ user: true }), ...SAID, name: leftOut } },
    assistant: {
      fields: {
        role: oneOf({ assistant: true }),
        ...SAID,
        toolCalls: {
          each: {
            fields: { id, name: toolName, arguments: becomes({}), invalid: leftOut, providerMetadata: leftOut },
          },
        },
        incomplete: flag("whether the model's stream ended early"),
        finishReason: oneOf({
          length: true,
          "content-filter": true,
          refusal: true,
          error: true,
          empty: true,
          other: true,
          guarded: true,
        }),
      },
    },
    tool: {
      fields: {
        role: oneOf({ tool: true }),
        ...SAID,
        toolCallId: id,
        toolName,
        isError: flag("whether the tool failed"),
      },
    },
  },
};

/**
 * Whose a field of a state is. `message`: the people whom the message names, or else the thread's. `call`: those
 * whose message asked for the call. `thread`: those whom the thread names, unless `attributed()` says otherwise.
 * `all`: it may quote anyone in the thread, and goes with the first of them who is erased.
 */
export type Whose = "message" | "call" | "thread" | "all";

interface StateRow<R> {
  readonly whose: Whose;
  readonly rule: R;
}

export const STATE_RULES: {
  readonly [Name in keyof StateFields]-?: StateRow<RuleOf<Exclude<StateFields[Name], undefined>>>;
} = {
  messages: { whose: "message", rule: { each: MESSAGE } },
  toolExecutions: {
    whose: "call",
    rule: {
      each: {
        fields: {
          toolCallId: id,
          toolName,
          status: oneOf({
            intended: true,
            started: true,
            waiting: true,
            pending: true,
            succeeded: true,
            failed: true,
            unknown: true,
            denied: true,
          }),
          idempotencyKey: name("random; another attempt must give the same"),
          // A hash that no call has: a call whose arguments are gone is refused, and never run without them.
          argumentsHash: { ...becomes("erased"), redacted: name("a hash: with another one the call is refused") },
          arguments: leftOut,
          effect: oneOf({ pure: true, idempotent: true, atMostOnce: true }),
          terminal: yes("what the tool declared"),
          attempts: total,
          startedAt: time,
          settledAt: time,
          failures: { each: { fields: { attempt: total, at: time, error: text } } },
          retryAt: time,
          childThreadId: id,
          waitsFor: {
            each: {
              fields: {
                toolCallId: id,
                toolName,
                idempotencyKey: name("random; given to the worker that completes the call"),
                dueAt: time,
              },
            },
          },
          dueAt: time,
          error: text,
          settledBy: { fields: { by: text, reason: text } },
        },
      },
    },
  },
  interrupts: {
    whose: "call",
    rule: {
      each: {
        fields: {
          id,
          toolCallId: id,
          kind: oneOf({ question: true, approval: true }),
          question: text,
          schema: becomes({}),
          key: text,
          askedAt: time,
          child: { fields: { threadId: id, interruptId: id } },
          answer: {
            fields: { value: becomes(ERASED), at: time, declined: yes("a refusal to answer"), reason: text, by: text },
          },
        },
      },
    },
  },
  artifacts: { whose: "call", rule: { own: {}, others: text } },
  reasoningSteps: {
    whose: "all",
    rule: { each: { fields: { iteration: total, thought: text, confidence: count("how sure the model said it is") } } },
  },
  errors: { whose: "all", rule: { each: { fields: { at: time, where: text, message: text } } } },
  overlay: { whose: "all", rule: emptied },
  providerState: {
    whose: "all",
    rule: {
      own: {
        "holdfast.stopped": name("why a run ended, in a word of the package's"),
        "holdfast.tools": { own: {}, others: name("a hash of one of the program's tools") },
      },
      others: emptied,
    },
  },
  metadata: {
    whose: "thread",
    rule: {
      own: {
        subject: { ...content, redacted: whom },
        "holdfast.parent": { fields: { threadId: id, toolCallId: id } },
        "holdfast.session": {
          fields: {
            label: id,
            task: { fields: { threadId: id, checkpointId: id, stopReason: name("a word of the package's") } },
          },
        },
        working: { own: {}, others: content },
      },
      others: content,
    },
  },
  agentId: { whose: "all", rule: name("the name of an agent of the program") },
  totals: {
    whose: "all",
    rule: {
      fields: {
        runs: total,
        iterations: total,
        toolCalls: total,
        inputTokens: total,
        outputTokens: total,
        cachedInputTokens: total,
        cacheWriteTokens: total,
        reasoningTokens: total,
        cost: total,
      },
    },
  },
};

/**
 * What was sent to a thread lies in the body of its record as a change of a state would: a message among `messages`,
 * and everything else in this list, which no state has.
 */
export interface SignalPart {
  /** The id of the waiting signal, or of the call whose outcome it is. */
  readonly id?: string;
  readonly toolCallId?: string;
  readonly value?: unknown;
  readonly declined?: true;
  readonly error?: string;
  readonly reason?: string;
  /** Who gave it. */
  readonly by?: string;
}

const SIGNALS: StateRow<RuleOf<readonly SignalPart[]>> = {
  whose: "call",
  rule: {
    each: {
      fields: {
        id,
        toolCallId: id,
        value: becomes(ERASED),
        declined: yes("a refusal to answer"),
        error: text,
        reason: text,
        by: text,
      },
    },
  },
};

/** Every list and field that the body of an agent's record may have. */
export const BODY_RULES: Readonly<Record<string, StateRow<Rule>>> = { ...STATE_RULES, signals: SIGNALS };

type Rows = Readonly<Record<string, Rule>>;

/** The metadata of a store's item. */
export const ITEM_METADATA: Rule = { ...emptied, redacted: besideWhom };

const way = "LangGraph finds its way by it";
const ofGraph: Kept = { kept: way, is: (value) => isText(value) || typeof value === "number" || areTexts(value) };
const isText = (value: unknown): boolean => typeof value === "string";
const areTexts = (value: unknown): boolean =>
  (Array.isArray(value) || isPlainObject(value)) &&
  Object.values(value).every((each) => isText(each) || typeof each === "number");

/** The metadata of a graph's checkpoint: what LangGraph notes in them in order to find its way, and all else. */
export const GRAPH_METADATA: Members = {
  own: {
    source: oneOf({ input: true, loop: true, update: true, fork: true }),
    step: count(way),
    parents: ofGraph,
    run_id: ofGraph,
    thread_id: ofGraph,
    task_id: ofGraph,
    assistant_id: ofGraph,
    graph_id: ofGraph,
    counters_since_delta_snapshot: ofGraph,
    checkpoint_id: ofGraph,
    checkpoint_ns: ofGraph,
    langgraph_step: count(way),
    langgraph_node: ofGraph,
    langgraph_triggers: ofGraph,
    langgraph_path: ofGraph,
    langgraph_checkpoint_ns: ofGraph,
    langgraph_task_idx: count(way),
    langgraph_request_id: ofGraph,
    langgraph_version: ofGraph,
    subject: { ...emptied, redacted: whom },
  },
  others: emptied,
};

const place: Kept = name("a position or a random id of the package's");
const operator: Kept = name("the operator of the storage: the proof of a hold or an erasure has to name them");
const reason: Kept = name("part of a proof, and asked for without personal data");
const counts: Kept = { kept: "counts or times, of the package's", is: () => true };
const plan: Kept = { kept: "made by the package, from no person's words", is: () => true };

/**
 * What lies around states. An erasure takes what is personal here where the row's room does so: of a record its body,
 * metadata and words, of an item all of it. All else stays, for the reason in its row.
 */
export const STORED_RULES: Readonly<
  Record<
    | "item"
    | "record"
    | "header"
    | "thread"
    | "graph"
    | "signal"
    | "mail"
    | "lease"
    | "moved"
    | "forkedFrom"
    | "pendingWrite"
    | "graphCheckpoint"
    | "hold"
    | "lifted"
    | "mark"
    | "tombstone"
    | "receipt",
    Rows
  >
> = {
  // What is about a person as a whole is deleted, name and all; of any other item, parts that say so.
  item: {
    namespace: { each: id },
    key: id,
    value: emptied,
    metadata: ITEM_METADATA,
    createdAt: moment,
    updatedAt: moment,
    version: total,
    expiresAt: moment,
  },
  record: {
    seq: total,
    writeId: place,
    base: total,
    head: total,
    checkpointId: id,
    names: { each: id },
    header: plan,
    metadata: emptied,
    body: emptied,
    words: leftOut,
  },
  header: {
    format: total,
    kind: oneOf({ base: true, delta: true, edit: true, lease: true, signal: true }),
    createdAt: time,
    buildsOn: total,
    schema: total,
    messageCount: total,
    bodyBytes: total,
    chain: counts,
    freshMessages: counts,
    standing: counts,
    digest: leftOut,
    graph: plan,
    signal: plan,
    thread: plan,
  },
  thread: {
    kind: oneOf({ graph: true }),
    moved: plan,
    forkedFrom: plan,
    edits: total,
    erasures: total,
    erasing: counts,
    holds: total,
    lease: plan,
    mail: plan,
  },
  signal: { id, kind: oneOf({ message: true, answers: true, cancel: true }) },
  mail: { generation: place, waiting: counts, taken: counts },
  graph: { parent: id, ns: id, id, greatest: id, fresh: total },
  lease: {
    id: place,
    owner: name("a process or a service, as the holder of the lease names itself; the next holder replaces it"),
    expiresAt: time,
    generation: place,
    holder: place,
  },
  moved: { to: name("a store, without its secrets"), at: time },
  forkedFrom: { threadId: id, checkpointId: id },
  pendingWrite: { taskId: id, index: total, channel: name("a name in the program's graph"), value: emptied },
  graphCheckpoint: {
    threadId: id,
    checkpointNs: id,
    checkpointId: id,
    parentId: id,
    metadata: GRAPH_METADATA,
    createdAt: time,
    checkpointData: emptied,
    pendingWrites: emptied,
  },
  hold: { id: place, subject: leftOut, threadPrefix: id, reason, placedBy: operator, placedAt: place, lifted: plan },
  lifted: { by: operator, reason, at: place },
  mark: { ledger: place, appliedTo: total, erasures: place, receiptsTo: total, receipts: place },
  tombstone: {
    number: total,
    requestId: place,
    subject: name("a keyed hash, which only the holder of the key can tell from another"),
    reason,
    process: oneOf({ erase: true, keep: true }),
    requestedAt: time,
    previous: place,
    lost: place,
  },
  receipt: {
    format: total,
    number: total,
    requestId: place,
    subject: name("a keyed hash, which only the holder of the key can tell from another"),
    reason,
    process: oneOf({ erase: true, keep: true }),
    requestedAt: place,
    finishedAt: place,
    dryRun: flag("whether nothing was erased"),
    places: counts,
    unreached: { kept: "names of backends and hashes of threads", is: () => true },
    held: { kept: "holds, without whom they are about", is: () => true },
    verified: flag("whether nothing was found any more"),
    previous: place,
    signature: place,
  },
};
