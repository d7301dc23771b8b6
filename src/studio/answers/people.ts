import { StateError } from "../../errors.ts";
import type { CorePersonalData } from "../../session/personal-data.ts";
import type { ErasedPlace, ErasureReport } from "../../session/receipts.ts";
import type { ErasedShown, ErasureAnswer, ErasurePlan, InventoryAnswer } from "../items-api.ts";
import type { StudioRequest } from "../request.ts";
import type { StudioContext } from "../studio-context.ts";
import { cutAt, LINE_SHOWN } from "./cut.ts";

const PLACES_SHOWN = 300;

function peopleOf({ options }: StudioContext): CorePersonalData {
  if (options.people !== undefined) return options.people;
  throw new StateError("UNSUPPORTED", "Studio was opened without the means to look for people");
}

/** Where something about a person is. The id comes in the body: an address would be kept by the browser. */
export async function inventoryAnswer(studio: StudioContext, request: StudioRequest): Promise<InventoryAnswer> {
  const { total, places, unreached } = await peopleOf(studio).inventory(request.given("userId"));
  return {
    total,
    places: places.slice(0, PLACES_SHOWN).map(({ backend, kind, where, count }) => ({
      backend,
      kind,
      where: cutAt(where, LINE_SHOWN),
      count,
    })),
    morePlaces: Math.max(0, places.length - PLACES_SHOWN),
    unreached: unreached.slice(0, 20),
  };
}

export async function planErasure(studio: StudioContext, request: StudioRequest): Promise<ErasurePlan> {
  const userId = request.given("userId");
  const report = await erasing(studio).eraseUser(userId, { dryRun: true });
  const { planId } = studio.plans.add("erase", userId, { userId });
  return { planId, ...shownReport(report) };
}

export async function erase(studio: StudioContext, request: StudioRequest): Promise<ErasureAnswer> {
  const { userId } = studio.plans.take<{ userId: string }>("erase", request.given("planId"), request.given("typed"));
  const people = erasing(studio);
  const reason = request.maybe("reason");
  const receipt = await people.eraseUser(userId, { ...(reason !== undefined && { reason }) });
  studio.wrote(`erased a person; receipt ${receipt.number}`);
  const { total } = await people.inventory(userId);
  return {
    receipt: JSON.stringify(receipt, null, 2),
    number: receipt.number,
    verified: receipt.verified,
    places: receipt.places.map(shownPlace),
    left: total,
  };
}

function erasing(studio: StudioContext): CorePersonalData {
  if (studio.options.canErase) return peopleOf(studio);
  const advice = "start it with --ledger <store> and HOLDFAST_ERASURE_KEY";
  throw new StateError("UNSUPPORTED", `Studio was opened without a ledger of erasures: ${advice}`);
}

const shownReport = ({ places, unreached }: ErasureReport): Omit<ErasurePlan, "planId"> => ({
  places: places.map(shownPlace),
  unreached: unreached.slice(0, 20),
});

const shownPlace = ({ backend, records, messages, fields, items }: ErasedPlace): ErasedShown => ({
  backend,
  records,
  messages,
  fields,
  items,
});
