import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/access-tests.operations";
import { maxAccessTests } from "@gatehouse/contract/records/access-test";
import { checkExpectation } from "@gatehouse/policy/effects/check-expectation";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record } from "../../platform/outcome.ts";
import type { LedgerPage } from "../../platform/tenancy/access-ledger.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./access-tests.queries.ts";
import { accessTestView, questionView } from "./access-tests.view.ts";
import { testRefusal } from "./broken-test-messages.ts";
import { expectationOf } from "./test-states.ts";
import { changedQuestion, findRecords, readQuestion, soundQuestion } from "./validate-access-test.ts";

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
  const question = readQuestion(asked);
  const ledger = enforced ? await call.openLedger() : undefined;
  return call.command(async (tx) => {
    const settings = { name, description, enforced, ...soundQuestion(question, await findRecords(tx, question)) };
    const row = await queries.insertAccessTest(tx, call.granted, newId(), settings, call.now);
    if ((await queries.countAccessTests(tx)) > maxAccessTests) {
      throw new AppError("access_test_limit_reached", {
        detail: `The tenant has ${maxAccessTests} access tests already.`,
      });
    }
    if (ledger !== undefined) await requireHolding(call, tx, ledger, row);
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
    const question = readQuestion(changedQuestion(row, change));
    const kept = { subject: change.subject === undefined, resource: change.resource === undefined };
    const settings: queries.TestSettings = {
      name: name ?? row.name,
      description: description ?? row.description,
      enforced: enforced ?? row.enforced,
      ...soundQuestion(question, await findRecords(tx, question), { kept }),
    };
    if (isDeepStrictEqual({ ...row, ...settings }, row)) return record(accessTestView(row), row.version);
    const changed = await queries.updateAccessTest(tx, call.granted, row.id, settings, call.now);
    const asksSame = row.enforced && isDeepStrictEqual(questionView(changed), questionView(row));
    if (changed.enforced && !asksSame && ledger !== undefined) await requireHolding(call, tx, ledger, changed);
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
 * What is enforced holds from the start, unless the caller says why it need not: whoever breaks a test is told then, not whoever
 * changes something else later. No other command commits between this check and this one's commit.
 *
 * @throws AppError access_tests_broken
 */
async function requireHolding(
  { overrideReason }: { readonly overrideReason: string | undefined },
  tx: TenantTx,
  ledger: LedgerPage,
  row: queries.AccessTestRow,
): Promise<void> {
  if (overrideReason !== undefined) return;
  const look = await ledger.look(tx, []);
  const { model } = look().before;
  const result = checkExpectation(model, expectationOf(row));
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
