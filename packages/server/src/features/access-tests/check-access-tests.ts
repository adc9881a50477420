/** Commands that report the current state of stored tests, and of a test in the request. */
import type * as operations from "@gatehouse/contract/operations/access-tests.operations";
import type { AccessTestReport, AccessTestResult, AccessTestState } from "@gatehouse/contract/records/access-test";
import { authorize } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, report } from "../../platform/outcome.ts";
import type { TenantModel } from "../../platform/tenancy/tenant-models.ts";
import { requireIds } from "../references/references.api.ts";
import * as queries from "./access-tests.queries.ts";
import { accessTestView, questionView } from "./access-tests.view.ts";
import { statesOf } from "./evaluate-tests.ts";
import { findRecords, parseQuestion, validQuestion } from "./validate-access-test.ts";

type CheckCall = Call<typeof operations.checkAccessTests>;

export async function checkAccessTests(call: CheckCall): Promise<Outcome> {
  // Refusals name who can access what, so the caller needs the permission to read access.
  authorize(call.permissions, "decisions:read");
  const { ids, test } = call.body;
  const tried = test === undefined ? [] : [await triedTest(call, test)];
  const stored = test !== undefined && ids === undefined ? [] : await storedTests(call, ids);
  const tenant = await call.model();
  const rows = [...stored, ...tried.map(({ question }) => question)];
  const states = await call.evaluate("The access tests", statesOf(tenant.model, rows));
  const results = [
    ...stored.map((row) => {
      const { createdAt: _createdAt, updatedAt: _updatedAt, ...shown } = accessTestView(row);
      return shown;
    }),
    ...tried.map(({ shown, question }) => ({
      ...shown,
      ...questionView({ ...question, ...namesIn(tenant, question) }),
    })),
  ].map((shown, index): AccessTestResult => ({ ...shown, state: states[index] as AccessTestState })); // one state for each question
  const body: AccessTestReport = { generation: tenant.generation, summary: summaryOf(states), tests: results };
  // Another command may hold the last database connection, so compute the answer before the command starts.
  return call.idempotency === undefined ? report(body) : call.command(async () => report(body));
}

async function storedTests(
  call: CheckCall,
  ids: readonly string[] | undefined,
): Promise<readonly queries.AccessTestRow[]> {
  const wanted = ids?.map((id) => id.toLowerCase());
  const rows = await call.read((tx) => queries.readAccessTests(tx, wanted));
  if (ids === undefined || wanted === undefined) return rows;
  const byId = new Map(rows.map((row) => [row.id, row]));
  requireIds({ pointer: "/ids", noun: "access test", ids }, new Set(byId.keys()));
  return wanted.map((id) => byId.get(id) as queries.AccessTestRow); // all ids exist, as checked above
}

async function triedTest(
  call: CheckCall,
  { name, description, enforced = false, ...asked }: NonNullable<CheckCall["body"]["test"]>,
) {
  const question = parseQuestion(asked, "/test");
  const found = await call.read((tx) => findRecords(tx, question));
  const shown = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined || description === "" ? {} : { description }),
    enforced,
  };
  return { shown, question: validQuestion(question, found, { pointer: "/test" }) };
}

function namesIn({ model }: TenantModel, question: queries.TestQuestion) {
  const { subject_type: type, subject_id: id, resource_type: resourceType, resource_id: resourceId } = question;
  const subject = id === null ? undefined : nameOf[type](model, id);
  const resource = resourceType === "resource" ? model.resources.get(resourceId)?.facts.name : undefined;
  return { subject_name: subject ?? null, resource_name: resource ?? null };
}

const nameOf: Readonly<
  Record<queries.TestQuestion["subject_type"], (model: TenantModel["model"], id: string) => string | undefined>
> = {
  everyone: () => undefined,
  group: (model, id) => model.groups.get(id)?.name,
  user: (model, id) => model.users.get(id)?.facts.email,
  device: (model, id) => model.devices.get(id)?.facts.name,
};

function summaryOf(states: readonly AccessTestState[]): AccessTestReport["summary"] {
  const missing = states.filter((state) => state.missing !== undefined).length;
  const broken = states.filter(({ holds, missing: gone }) => !holds && gone === undefined).length;
  return { holding: states.length - missing - broken, broken, missing };
}
