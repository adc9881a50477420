import { isDeepStrictEqual } from "node:util";
import type { Operation } from "@gatehouse/contract/operation";
import type * as operations from "@gatehouse/contract/operations/access-tests.operations";
import { maxAccessTests } from "@gatehouse/contract/records/access-test";
import { checkingExpectation } from "@gatehouse/policy/effects/check-expectation";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record } from "../../platform/outcome.ts";
import type { AccessImpact } from "../../platform/tenancy/access-ledger.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./access-tests.queries.ts";
import { accessTestView, questionView } from "./access-tests.view.ts";
import { testRefusal } from "./broken-test-messages.ts";
import { expectationOf } from "./evaluate-tests.ts";
import { changedQuestion, findRecords, parseQuestion, validQuestion } from "./validate-access-test.ts";

export async function listAccessTests(call: Call<typeof operations.listAccessTests>): Promise<Outcome> {
  const { rows, total } = await call.read((tx) => queries.listAccessTests(tx, call.listQuery));
  return { kind: "page", page: pageOfItems(call.listQuery, rows.map(accessTestView), total) };
}

export async function readAccessTest(call: Call<typeof operations.readAccessTest>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readAccessTest(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(accessTestView(row), row.version);
}

export async function createAccessTest(call: Call<typeof operations.createAccessTest>): Promise<Outcome> {
  const { name, description = "", enforced = false, ...asked } = call.body;
  const question = parseQuestion(asked);
  const ledger = enforced ? await call.openLedger() : undefined;
  return call.command(async (tx) => {
    const settings = { name, description, enforced, ...validQuestion(question, await findRecords(tx, question)) };
    const row = await queries.insertAccessTest(tx, call.granted, newId(), settings, call.now);
    if ((await queries.countAccessTests(tx)) > maxAccessTests) {
      throw new AppError("access_test_limit_reached", {
        detail: `The tenant already has ${maxAccessTests} access tests, which is the limit.`,
      });
    }
    if (ledger !== undefined) requireHolding(call, tx, ledger, row);
    const view = accessTestView(row);
    tx.record({ type: "access-test", id: row.id, name, after: view });
    return created(view, row.version, `/tenants/access-tests/${row.id}`);
  });
}

export async function updateAccessTest(call: Call<typeof operations.updateAccessTest>): Promise<Outcome> {
  const { name, description, enforced, ...change } = call.body;
  const mayEnforceMore = enforced ?? Object.keys(change).length > 0;
  const ledger = mayEnforceMore ? await call.openLedger() : undefined;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const question = parseQuestion(changedQuestion(row, change));
    const unchanged = { subject: change.subject === undefined, resource: change.resource === undefined };
    const settings: queries.TestSettings = {
      name: name ?? row.name,
      description: description ?? row.description,
      enforced: enforced ?? row.enforced,
      ...validQuestion(question, await findRecords(tx, question), { unchanged }),
    };
    if (isDeepStrictEqual({ ...row, ...settings }, row)) return record(accessTestView(row), row.version);
    const changed = await queries.updateAccessTest(tx, call.granted, row.id, settings, call.now);
    const asksSame = row.enforced && isDeepStrictEqual(questionView(changed), questionView(row));
    if (changed.enforced && !asksSame && ledger !== undefined) requireHolding(call, tx, ledger, changed);
    const after = accessTestView(changed);
    tx.record({ type: "access-test", id: row.id, name: changed.name, before: accessTestView(row), after });
    return record(after, changed.version);
  });
}

export async function deleteAccessTest(call: Call<typeof operations.deleteAccessTest>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    await queries.deleteAccessTest(tx, call.granted, row.id);
    tx.record({ type: "access-test", id: row.id, name: row.name, before: accessTestView(row) });
    return empty();
  });
}

/**
 * Requires that an enforced test holds at the end of the transaction, unless the caller gives a reason. Otherwise the
 * first unrelated change would be refused. No other command commits between this check and the commit of this command.
 */
function requireHolding(
  call: Pick<Call<Operation>, "overrideReason" | "evaluateAlways">,
  tx: CommandTx,
  impact: AccessImpact,
  { id }: queries.AccessTestRow,
): void {
  if (call.overrideReason !== undefined) return;
  tx.atEnd(async () => {
    const row = await queries.readAccessTest(tx, id);
    // A later change of the same change set can delete the test or stop enforcing it.
    if (row?.enforced === true) await requireThatHolds(call, tx, impact, row);
  });
}

/** @throws AppError access_tests_broken */
async function requireThatHolds(
  call: Pick<Call<Operation>, "evaluateAlways">,
  tx: TenantTx,
  impact: AccessImpact,
  row: queries.AccessTestRow,
): Promise<void> {
  const { after } = await call.evaluateAlways(await impact.preview(tx, []));
  const { model } = after;
  const result = await call.evaluateAlways(checkingExpectation(model, expectationOf(row)));
  if (result.holds || result.missing !== undefined) return;
  throw new AppError("access_tests_broken", {
    detail: `The access test ${row.name} does not hold now, so it cannot be enforced.`,
    errors: [{ ...testRefusal(row, result, model), pointer: "/enforced" }],
  });
}

/** @throws AppError not_found, precondition_failed */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.AccessTestRow> {
  const row = await queries.lockAccessTest(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}
