import type * as operations from "@gatehouse/contract/operations/access.operations";
import type { AccessHistory, PastAccess } from "@gatehouse/contract/records/past-access";
import type { Work } from "@gatehouse/policy/work";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { pageOfItems } from "../../../platform/db/list-statement.ts";
import { type Outcome, report } from "../../../platform/outcome.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import { readHistoryBounds } from "../history/history.queries.ts";
import { type PastQuestion, pastAccess } from "./past-access.rules.ts";
import { canonicalId, readCircumstances } from "./questions.rules.ts";

export async function listPastAccess(call: Call<typeof operations.listPastAccess>): Promise<Outcome> {
  const circumstances = circumstancesOf(call);
  const asked = ["user", "device", "resource"].filter((name) => call.queryParameter(name) !== undefined);
  if (asked.length === 0) throw invalid("user", "or device or resource has to be given");
  const past = await call.modelAt(new Date(circumstances.now));
  if ("begins" in past) {
    throw new AppError("before_history", { detail: `The history of this tenant begins at ${past.begins}.` });
  }
  const question: PastQuestion = { ...namedIn(call, past), circumstances };
  const { page, total } = await call.evaluate(
    "The decisions of this list",
    pageOfAccess(past, question, call.listQuery),
  );
  return { kind: "page", page: pageOfItems(call.listQuery, page, total) };
}

export async function readAccessHistory(call: Call<typeof operations.readAccessHistory>): Promise<Outcome> {
  const at = new Date(circumstancesOf(call).now);
  const { begins, held } = await call.read((tx) => readHistoryBounds(tx, at));
  const body: AccessHistory = {
    ...(begins === null ? {} : { begins }),
    at: at.toISOString(),
    ...(held === null ? {} : { generation: held }),
  };
  return report(body);
}

function* pageOfAccess(
  past: TenantModel,
  question: PastQuestion,
  { limit, offset }: PastCall["listQuery"],
): Work<{ readonly page: PastAccess[]; readonly total: number }> {
  const page: PastAccess[] = [];
  let total = 0;
  for (const found of pastAccess(past.model, question)) {
    if (typeof found === "number") {
      yield found;
      continue;
    }
    if (total >= offset && page.length < limit) page.push(found);
    total += 1;
  }
  return { page, total };
}

type PastCall = Call<typeof operations.listPastAccess>;

/** @throws AppError invalid_parameter */
function circumstancesOf(call: Pick<PastCall, "queryParameter" | "now">): PastQuestion["circumstances"] {
  const [time, sourceIp, country] = ["at", "sourceIp", "country"].map((name) => call.queryParameter(name));
  if (country !== undefined && !/^[A-Z]{2}$/.test(country)) {
    throw invalid("country", "must be two capital letters, such as DE");
  }
  const context = {
    ...(time === undefined ? {} : { time }),
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...(country === undefined ? {} : { country }),
  };
  const read = readCircumstances(context, call.now);
  if ("pointer" in read) throw invalid(read.pointer === "/time" ? "at" : read.pointer.slice(1), read.message);
  if (read.now > call.now.getTime()) throw invalid("at", "lies in the future");
  const { deviceId: _device, explain: _explain, ...circumstances } = read;
  return circumstances;
}

/** @throws AppError not_found if the record did not exist then; an empty page would claim that it had no access */
function namedIn(call: PastCall, past: TenantModel): Omit<PastQuestion, "circumstances"> {
  const { model } = past;
  const [user, device, resource] = ["user", "device", "resource"].map((name) => call.queryParameter(name));
  const known = (noun: string, given: string, id: string | undefined): string => {
    if (id !== undefined) return id;
    throw new AppError("not_found", { detail: `There was no ${noun} ${JSON.stringify(given)} at that time.` });
  };
  const idIn = (table: { get(id: string): unknown }, given: string) =>
    table.get(canonicalId(given)) === undefined ? undefined : canonicalId(given);
  return {
    ...(user === undefined ? {} : { userId: known("user", user, idIn(model.users, user) ?? past.userIdOf(user)) }),
    ...(device === undefined ? {} : { deviceId: known("device", device, idIn(model.devices, device)) }),
    ...(resource === undefined
      ? {}
      : { resourceId: known("resource", resource, idIn(model.resources, resource) ?? past.resourceIdOf(resource)) }),
  };
}

function invalid(parameter: string, message: string): AppError {
  return new AppError("invalid_parameter", {
    detail: `${parameter} ${message}.`,
    errors: [{ pointer: parameter, message }],
  });
}
