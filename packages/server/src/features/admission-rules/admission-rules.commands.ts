import type * as operations from "@gatehouse/contract/operations/admission-rules.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record, report, streamed } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { requireUnused } from "../references/references.api.ts";
import * as queries from "./admission-rules.queries.ts";
import { checkRuleContent, type RuleContent, ruleReport } from "./admission-rules.rules.ts";
import { admissionRuleView } from "./admission-rules.view.ts";

export async function listAdmissionRules(call: Call<typeof operations.listAdmissionRules>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listAdmissionRules(tx, afterId, limit))).map(admissionRuleView),
  );
}

export async function readAdmissionRule(call: Call<typeof operations.readAdmissionRule>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readAdmissionRule(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(admissionRuleView(row), row.version);
}

export async function createAdmissionRule(call: Call<typeof operations.createAdmissionRule>): Promise<Outcome> {
  const settings = call.body;
  requireValid(settings);
  return call.command(async (tx) => {
    const [row] = await queries.insertAdmissionRules(tx, call.granted, [{ id: newId(), ...settings }], call.now);
    if (row === undefined) throw new Error("the inserted admission rule was not returned");
    const view = admissionRuleView(row);
    tx.record({ type: "admission-rule", id: row.id, name: row.name, after: view });
    return created(view, row.version, `/tenants/admission-rules/${row.id}`);
  });
}

export async function updateAdmissionRule(call: Call<typeof operations.updateAdmissionRule>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const settings = {
      name: call.body.name ?? row.name,
      rule: call.body.rule ?? row.rule,
      hasTimeConstraint: call.body.hasTimeConstraint ?? row.has_time_constraint,
    };
    const sameContent = settings.rule === row.rule && settings.hasTimeConstraint === row.has_time_constraint;
    const before = admissionRuleView(row);
    if (sameContent && settings.name === row.name) return record(before, row.version);
    if (!sameContent) requireValid(settings);
    const [changed = row] = await queries.updateAdmissionRules(
      tx,
      call.granted,
      [{ id: row.id, ...settings }],
      call.now,
    );
    const after = admissionRuleView(changed);
    tx.record({ type: "admission-rule", id: row.id, name: changed.name, before, after });
    return record(after, changed.version);
  });
}

export async function deleteAdmissionRule(call: Call<typeof operations.deleteAdmissionRule>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    const { id, name } = row;
    await requireUnused(call.references, tx, { noun: "admission-rule", id, name }, "admission_rule_in_use");
    await queries.deleteAdmissionRules(tx, call.granted, [row.id]);
    tx.record({ type: "admission-rule", id: row.id, name: row.name, before: admissionRuleView(row) });
    return empty();
  });
}

/** Runs as a command for the sake of the Idempotency-Key that every POST accepts; it changes and records nothing. */
export async function checkAdmissionRule(call: Call<typeof operations.checkAdmissionRule>): Promise<Outcome> {
  return call.command(async () => report(ruleReport(call.body.rule)));
}

/** A rule that administrators may change: built-in ones have no text. */
type CustomRuleRow = queries.AdmissionRuleRow & { readonly rule: string };

/** @throws AppError not_found, precondition_failed, predefined_record */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<CustomRuleRow> {
  const row = await queries.lockAdmissionRule(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  const { rule } = row;
  if (rule === null) {
    throw new AppError("predefined_record", { detail: `The admission rule ${row.name} is built in.` });
  }
  return { ...row, rule };
}

/** @throws AppError invalid_rule, invalid_combination */
function requireValid(content: RuleContent): void {
  const check = checkRuleContent(content);
  if (check.ok) return;
  throw new AppError(check.code, { errors: check.errors });
}
