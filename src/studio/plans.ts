import { newId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";

/** What a person was shown and may now confirm. */
export interface Plan<Details> {
  readonly planId: string;
  readonly details: Details;
  /** What has to be typed. */
  readonly typed: string;
}

const LIFETIME_MS = 15 * 60_000;
const MOST = 100;

/** Nothing is destroyed that was not shown first: a plan is carried out once, as it was shown, or not at all. */
export class Plans {
  readonly #now: () => number;
  readonly #plans = new Map<string, Plan<unknown> & { readonly kind: string; readonly until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add<Details>(kind: string, typed: string, details: Details): Plan<Details> {
    const plan = { planId: newId(), kind, typed, details, until: this.#now() + LIFETIME_MS };
    this.#plans.set(plan.planId, plan);
    for (const oldest of this.#plans.keys()) {
      if (this.#plans.size <= MOST) break;
      this.#plans.delete(oldest);
    }
    return plan;
  }

  /** The plan, which is used up by this. */
  take<Details>(kind: string, planId: string, typed: string): Details {
    const plan = this.#plans.get(planId);
    if (plan === undefined || plan.kind !== kind || plan.until < this.#now()) {
      throw new StateError("CONFLICT", "this plan is too old or was carried out already; look at a new one");
    }
    if (plan.typed !== typed) {
      throw new StateError("INVALID_ARGUMENT", "what was typed is not what has to be typed; nothing was done");
    }
    this.#plans.delete(planId);
    return plan.details as Details;
  }
}
