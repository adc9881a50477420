import type * as operations from "@gatehouse/contract/operations/configuration.operations";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { Configuration, ConfigurationChange, ConfigurationPlan } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { AppError, fieldSentence, reportedFields } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { jsonBytes } from "../../platform/json-slices.ts";
import type { AllowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { type Outcome, type Serialized, serialized } from "../../platform/outcome.ts";
import { problemOfNewName } from "../../platform/readable-names.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import { devicesByKey, readSizes } from "./configuration.queries.ts";
import { documentOf, type Sections } from "./document/document-entries.ts";
import { namedDevices } from "./document/document-references.ts";
import { smallRecordCost } from "./document/record-costs.ts";
import { closedAddressProblems } from "./plan/closed-addresses.ts";
import { readableKinds, requireOwnRights, requireReading, requireWriting } from "./plan/permitted-changes.ts";
import { allChanges, changeView, planChanges, type RecordChanges, type TenantPlan } from "./plan/plan-changes.ts";
import { providerProblems } from "./plan/provider-changes.ts";
import { portProblems } from "./plan/resource-ports.ts";
import { changedRuleProblems } from "./plan/validate-rules.ts";
import {
  readTenantRows,
  requireReadable,
  type TenantRecords,
  type TenantRows,
  tenantRecordsOf,
} from "./tenant-records.ts";
import { writeChanges } from "./write/write-changes.ts";

export async function readConfiguration(call: Call<typeof operations.readConfiguration>): Promise<Outcome> {
  requireReadable(await call.read(readSizes));
  const [generation, rows] = await call.read((tx) => Promise.all([readGeneration(tx), readTenantRows(tx)]));
  return serialized(await call.evaluateAlways(exporting(rows, readableKinds(call.permissions))), generation ?? 0);
}

function* exporting(rows: TenantRows, kinds: Sections): Work<Serialized> {
  const body = yield* documentOf(yield* tenantRecordsOf(rows), kinds);
  return { body, bytes: yield* jsonBytes(body) };
}

export async function planConfiguration(call: Call<typeof operations.planConfiguration>): Promise<Outcome> {
  const { body: document } = call;
  requireReading(call.permissions, document);
  requireReadable(await call.read(readSizes));
  const [generation = 0, rows, devices] = await call.read((tx) =>
    Promise.all([readGeneration(tx), readTenantRows(tx), devicesByKey(tx, namedDevices(document))]),
  );
  const planned = serialized(
    await call.evaluateAlways(planning(rows, document, devices, { generation, networks: call.providerNetworks })),
  );
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
    const [rows, devices] = await Promise.all([readTenantRows(tx), devicesByKey(tx, namedDevices(document))]);
    const { current, plan } = await call.evaluateAlways(planningWithRights(rows, document, devices, call));
    const changes = allChanges(plan.changes);
    if (changes.length > 0) {
      const tokens = call.secrets.gatewayTokens;
      await writeChanges(tx, {
        plan,
        current,
        devices,
        permissions,
        tokens,
        at: call.now,
        by: call.actor,
        perform: (work) => call.evaluateAlways(work),
      });
    }
    // The command runs alone in the tenant, so it makes the next generation.
    const next = changes.length === 0 ? generation : generation + 1;
    return serialized(await call.evaluateAlways(viewing(plan.changes, next)), next);
  });
}

function* planning(
  rows: TenantRows,
  document: Configuration,
  devices: ReadonlyMap<string, string>,
  { generation, networks }: { readonly generation: number; readonly networks: AllowedNetworks },
): Work<Serialized> {
  const current = yield* tenantRecordsOf(rows);
  const plan = yield* planChanges(current, document, new Set(devices.keys()));
  yield* requireValid(plan, document, current, providerProblems(plan.changes["identity-provider"], current, networks));
  return yield* viewing(plan.changes, generation);
}

/** @throws the work: AppError permission_denied, grants_exceed_caller, invalid_configuration */
function* planningWithRights(
  rows: TenantRows,
  document: Configuration,
  devices: ReadonlyMap<string, string>,
  {
    permissions,
    providerNetworks: networks,
  }: Pick<Call<typeof operations.applyConfiguration>, "permissions" | "providerNetworks">,
): Work<{ readonly current: TenantRecords; readonly plan: TenantPlan }> {
  const current = yield* tenantRecordsOf(rows);
  const plan = yield* planChanges(current, document, new Set(devices.keys()));
  requireWriting(permissions, plan.changes);
  yield* requireOwnRights(permissions, plan.changes, plan.next);
  yield* requireValid(plan, document, current, providerProblems(plan.changes["identity-provider"], current, networks));
  return { current, plan };
}

function* viewing(changes: RecordChanges, generation: number): Work<Serialized> {
  const body = yield* planView(changes, generation);
  return { body, bytes: yield* jsonBytes(body) };
}

/** @throws AppError invalid_configuration, listing all problems up to the limit of one answer */
function* requireValid(
  plan: TenantPlan,
  document: Configuration,
  current: TenantRecords,
  ofProviders: readonly ProblemField[],
): Work<void> {
  const { changes, problems } = plan;
  const all: ProblemField[] = [
    ...problems,
    ...ofProviders,
    ...(yield* unreadableNames(changes)),
    ...(yield* closedAddressProblems(changes, document)),
    ...(yield* portProblems(plan, current)),
    ...(yield* changedRuleProblems(changes)),
  ];
  const [first] = all;
  if (first === undefined) return;
  const more = all.length > reportedFields ? `; the first ${reportedFields} are listed` : "";
  const count = all.length === 1 ? "one problem" : `${all.length} problems${more}`;
  throw new AppError("invalid_configuration", {
    detail: `The document has ${count}. ${fieldSentence(first)}`,
    errors: all,
  });
}

/** New records whose names cannot be read. Existing names stay valid. */
function* unreadableNames(changes: RecordChanges): Work<readonly ProblemField[]> {
  const problems: ProblemField[] = [];
  for (const change of allChanges(changes)) {
    yield smallRecordCost;
    if (change.action !== "create") continue;
    const message = problemOfNewName(change.key);
    if (message !== undefined) problems.push({ pointer: `${change.pointer}/name`, message });
  }
  return problems;
}

function* planView(changes: RecordChanges, generation: number): Work<ConfigurationPlan> {
  const shown: ConfigurationChange[] = [];
  const counts = { create: 0, update: 0, delete: 0 };
  for (const change of allChanges(changes)) {
    yield smallRecordCost;
    shown.push(changeView(change));
    counts[change.action] += 1;
  }
  return {
    generation,
    summary: { created: counts.create, updated: counts.update, deleted: counts.delete },
    changes: shown,
  };
}
