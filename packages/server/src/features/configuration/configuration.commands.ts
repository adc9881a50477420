import type * as operations from "@gatehouse/contract/operations/configuration.operations";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { Configuration, ConfigurationPlan } from "@gatehouse/contract/records/configuration";
import { AppError, fieldSentence, reportedFields } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record, report } from "../../platform/outcome.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import { devicesByKey, readSizes } from "./configuration.queries.ts";
import { documentOf } from "./document/document-entries.ts";
import { namedDevices } from "./document/document-references.ts";
import { readableKinds, requireOwnRights, requireReading, requireWriting } from "./plan/permitted-changes.ts";
import { allChanges, changeView, planChanges, type RecordChanges, type TenantPlan } from "./plan/plan-changes.ts";
import { changedRuleProblems } from "./plan/validate-rules.ts";
import { readTenantRecords, requireReadable, type TenantRecords } from "./tenant-records.ts";
import { writeChanges } from "./write/write-changes.ts";

export async function readConfiguration(call: Call<typeof operations.readConfiguration>): Promise<Outcome> {
  requireReadable(await call.read(readSizes));
  const [generation, records] = await call.read((tx) => Promise.all([readGeneration(tx), readTenantRecords(tx)]));
  return record(documentOf(records, readableKinds(call.permissions)), generation ?? 0);
}

export async function planConfiguration(call: Call<typeof operations.planConfiguration>): Promise<Outcome> {
  const { body: document } = call;
  requireReading(call.permissions, document);
  requireReadable(await call.read(readSizes));
  const [generation = 0, current, devices] = await call.read((tx) =>
    Promise.all([readGeneration(tx), readTenantRecords(tx), devicesByKey(tx, namedDevices(document))]),
  );
  const { changes } = await soundPlan(current, document, devices);
  const planned = report(planView(changes, generation));
  // Every POST accepts an Idempotency-Key, and a stored reply takes a command; the plan itself is read in one snapshot.
  return call.idempotency === undefined ? planned : call.command(async () => planned);
}

export async function applyConfiguration(call: Call<typeof operations.applyConfiguration>): Promise<Outcome> {
  const { body: document, permissions } = call;
  requireReading(permissions, document);
  return call.commandAlone(async (tx) => {
    const [generation = 0, sizes] = await Promise.all([readGeneration(tx), readSizes(tx)]);
    call.requireVersion(generation);
    requireReadable(sizes);
    const [current, devices] = await Promise.all([readTenantRecords(tx), devicesByKey(tx, namedDevices(document))]);
    const plan = planChanges(current, document, new Set(devices.keys()));
    requireWriting(permissions, plan.changes);
    requireOwnRights(permissions, plan.changes, plan.next);
    await requireSound(plan);
    if (allChanges(plan.changes).length === 0) return record(planView(plan.changes, generation), generation);
    const tokens = call.secrets.gatewayTokens;
    await writeChanges(tx, { plan, current, devices, permissions, tokens, at: call.now });
    // No other command of the tenant runs beside this one, so the generation that it makes is the next.
    return record(planView(plan.changes, generation + 1), generation + 1);
  });
}

/** @throws AppError invalid_configuration */
async function soundPlan(
  current: TenantRecords,
  document: Configuration,
  devices: ReadonlyMap<string, string>,
): Promise<TenantPlan> {
  const plan = planChanges(current, document, new Set(devices.keys()));
  await requireSound(plan);
  return plan;
}

/** @throws AppError invalid_configuration, with every problem there is, as far as one answer holds them */
async function requireSound({ changes, problems }: TenantPlan): Promise<void> {
  const all: ProblemField[] = [...problems, ...(await changedRuleProblems(changes))];
  const [first] = all;
  if (first === undefined) return;
  const more = all.length > reportedFields ? `; the first ${reportedFields} are listed` : "";
  const count = all.length === 1 ? "one problem" : `${all.length} problems${more}`;
  throw new AppError("invalid_configuration", {
    detail: `The document has ${count}. ${fieldSentence(first)}`,
    errors: all,
  });
}

function planView(changes: RecordChanges, generation: number): ConfigurationPlan {
  const shown = allChanges(changes).map(changeView);
  const count = (wanted: string) => shown.filter(({ action }) => action === wanted).length;
  return {
    generation,
    summary: { created: count("create"), updated: count("update"), deleted: count("delete") },
    changes: shown,
  };
}
