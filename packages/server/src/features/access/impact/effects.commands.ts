import type * as operations from "@gatehouse/contract/operations/events.operations";
import type { EffectSummary, EventEffect } from "@gatehouse/contract/records/effect";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { type Outcome, report } from "../../../platform/outcome.ts";
import { readEffect } from "../history/history.queries.ts";

export async function readEventEffect(call: Call<typeof operations.readEventEffect>): Promise<Outcome> {
  const event = call.parameters.id;
  const stored = await call.read((tx) => readEffect(tx, event));
  if (stored === undefined) throw new AppError("not_found", { detail: "The audit record has no entry with this id." });
  const { generation, createdAt, reason, summary, late, lateSummary, early } = stored;
  if (summary === null) {
    const detail =
      early === true
        ? "The entry's command ran before effects on access were stored."
        : "The entry's command cannot change access.";
    throw new AppError("not_found", { detail });
  }
  const body: EventEffect = {
    event,
    generation,
    createdAt,
    ...(reason === null ? {} : { overrideReason: reason }),
    ...(late && lateSummary === null ? { pending: true } : {}),
    ...(lateSummary === null ? summary : { ...lateSummary, brokenTests: allOf(summary, lateSummary) }),
  };
  return report(body);
}

/** Tests that were decided before the commit, and those that were decided after it. */
function allOf(...summaries: readonly EffectSummary[]): EffectSummary["brokenTests"] {
  const byId = new Map(summaries.flatMap(({ brokenTests }) => brokenTests.map((test) => [test.id, test])));
  return [...byId.values()].sort(({ id: one }, { id: other }) => (one < other ? -1 : 1));
}
