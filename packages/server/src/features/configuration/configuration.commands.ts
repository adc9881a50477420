import type * as operations from "@gatehouse/contract/operations/configuration.operations";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { Configuration, ConfigurationPlan } from "@gatehouse/contract/records/configuration";
import { AppError, fieldSentence, reportedFields } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { hasDirectionControls } from "../../platform/change.ts";
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
  const { changes } = await validPlan(current, document, devices);
  const planned = report(planView(changes, generation));
  // Every POST accepts an Idempotency-Key, and storing a reply takes a command. The plan itself reads one snapshot.
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
    await requireValid(plan);
    if (allChanges(plan.changes).length === 0) return record(planView(plan.changes, generation), generation);
    const tokens = call.secrets.gatewayTokens;
    await writeChanges(tx, { plan, current, devices, permissions, tokens, at: call.now });
    // The command runs alone in the tenant, so it makes the next generation.
    return record(planView(plan.changes, generation + 1), generation + 1);
  });
}

/** @throws AppError invalid_configuration */
async function validPlan(
  current: TenantRecords,
  document: Configuration,
  devices: ReadonlyMap<string, string>,
): Promise<TenantPlan> {
  const plan = planChanges(current, document, new Set(devices.keys()));
  await requireValid(plan);
  return plan;
}

/** @throws AppError invalid_configuration, listing all problems up to the limit of one answer */
async function requireValid({ changes, problems }: TenantPlan): Promise<void> {
  const all: ProblemField[] = [...problems, ...unreadableNames(changes), ...(await changedRuleProblems(changes))];
  const [first] = all;
  if (first === undefined) return;
  const more = all.length > reportedFields ? `; the first ${reportedFields} are listed` : "";
  const count = all.length === 1 ? "one problem" : `${all.length} problems${more}`;
  throw new AppError("invalid_configuration", {
    detail: `The document has ${count}. ${fieldSentence(first)}`,
    errors: all,
  });
}

/** New records whose names contain direction controls. Existing names stay valid. */
function unreadableNames(changes: RecordChanges): readonly ProblemField[] {
  return allChanges(changes).flatMap((change) =>
    change.action === "create" && hasDirectionControls(change.key)
      ? [
          {
            pointer: `${change.pointer}/name`,
            message: "must not contain characters that change the direction of text",
          },
        ]
      : [],
  );
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
