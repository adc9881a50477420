import type * as operations from "@gatehouse/contract/operations/access.operations";
import { maxExplanations } from "@gatehouse/contract/operations/access.operations";
import type { AccessDecision, AccessReason, FoundAccess } from "@gatehouse/contract/records/decision";
import { decideBriefly, deciding } from "@gatehouse/policy/decisions/decide";
import { explaining } from "@gatehouse/policy/decisions/explain";
import type { AccessRequest, Destination } from "@gatehouse/policy/decisions/request";
import { resolveDestination } from "@gatehouse/policy/decisions/resolve-destination";
import { resolvePrincipal } from "@gatehouse/policy/decisions/resolve-principal";
import { possibleSubjects } from "@gatehouse/policy/decisions/search";
import type { Work } from "@gatehouse/policy/work";
import type { Call } from "../../../platform/call.ts";
import type { IdempotencyRequest } from "../../../platform/idempotency.queries.ts";
import { type Outcome, report, serializedReport } from "../../../platform/outcome.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import { decisionJson, decisionView, refusalView } from "./decision.view.ts";
import { explanationView } from "./explanation.view.ts";
import { type FoundPage, pageOf } from "./pages.rules.ts";
import {
  type Circumstances,
  connect,
  deviceNamed,
  invalidBody,
  mergeQuestion,
  type PreparedQuestion,
  prepareEvaluation,
  prepareQuestion,
  type Question,
  readDestination,
  readSubject,
  requireCircumstances,
  requirePage,
  requireValid,
} from "./questions.rules.ts";

export async function evaluateAccess(call: Call<typeof operations.evaluateAccess>): Promise<Outcome> {
  const tenant = await call.model();
  const question = prepareQuestion(call.body, "", call.now, tenant);
  return answer(call, await call.evaluate("The decision", decisionOn(question, tenant)));
}

export async function evaluateAccessBatch(call: Call<typeof operations.evaluateAccessBatch>): Promise<Outcome> {
  const tenant = await call.model();
  const { evaluations = [], options, ...defaults } = call.body;
  if (evaluations.length === 0) {
    const question = prepareQuestion(mergeQuestion(defaults, {}, ""), "", call.now, tenant);
    return answer(call, await call.evaluate("The decision", decisionOn(question, tenant)));
  }
  requireCircumstances(defaults.context, "", call.now);
  const prepare = (evaluation: Partial<Question>) => prepareEvaluation(evaluation, defaults, call.now, tenant);
  const explained = evaluations.filter((evaluation) => mayBeExplained(evaluation, defaults));
  const last = lastOf[options?.evaluations_semantic ?? "execute_all"];
  const work = function* (): Work<string> {
    if (explained.length > maxExplanations) yield* requireFewExplanations(explained, prepare);
    return yield* decisionsOn(evaluations, prepare, last, tenant);
  };
  const text = await call.evaluate("The decisions of this batch", work());
  return call.idempotency === undefined ? serializedReport(text) : answer(call, JSON.parse(text));
}

/** Whether an evaluation, valid or not, asks for an explanation. */
function mayBeExplained(evaluation: Partial<Question> | null, defaults: Partial<Question>): boolean {
  return (evaluation?.context ?? defaults.context)?.explain === true;
}

/** The cost of preparing an evaluation, in rule-cost units. */
const preparationCost = 50;

/**
 * Invalid evaluations are not explained, so they do not count.
 *
 * @throws AppError invalid_body, when the work runs
 */
function* requireFewExplanations(
  explained: readonly Partial<Question>[],
  prepare: (evaluation: Partial<Question>) => PreparedQuestion,
): Work<void> {
  let count = 0;
  for (const evaluation of explained) {
    yield preparationCost;
    if (prepare(evaluation).explain) count += 1;
    if (count > maxExplanations) {
      throw invalidBody("/context/explain", `may be asked for ${maxExplanations} evaluations at most`);
    }
  }
}

/** The cost of about ten decisions, which is reported at once because each report takes time. */
const reportedUnits = 500;

/**
 * The JSON of a batch of decisions. Each evaluation is prepared, decided and serialized before the next: its records
 * are then still in the processor's caches, and no objects of the whole batch are retained.
 *
 * @param last the decision that ends the batch
 */
function* decisionsOn(
  evaluations: readonly Partial<Question>[],
  prepare: (evaluation: Partial<Question>) => PreparedQuestion,
  last: boolean | undefined,
  tenant: TenantModel,
): Work<string> {
  const decisions: string[] = [];
  const meter = { spent: 0 };
  for (const evaluation of evaluations) {
    const question = prepare(evaluation);
    const { asked, explain: isExplained } = question;
    let isAllowed: boolean;
    if (isExplained || typeof asked === "string") {
      const decision = yield* decisionOn(question, tenant);
      decisions.push(JSON.stringify(decision));
      isAllowed = decision.decision;
    } else {
      const decision = decideBriefly(tenant.model, asked, meter) ?? (yield* deciding(tenant.model, asked));
      decisions.push(decisionJson(decision, tenant.model));
      isAllowed = decision.allowed;
    }
    if (isAllowed === last) break;
    if (meter.spent < reportedUnits) continue;
    yield meter.spent;
    meter.spent = 0;
  }
  yield meter.spent;
  return `{"evaluations":[${decisions.join()}]}`;
}

/** The decision that ends a batch. */
const lastOf = { execute_all: undefined, deny_on_first_deny: false, permit_on_first_permit: true } as const;

export async function searchSubjects(call: Call<typeof operations.searchSubjects>): Promise<Outcome> {
  const tenant = await call.model();
  const { subject, action, resource, context, page } = call.body;
  const circumstances = requireCircumstances(context, "", call.now);
  const destination = requireValid(readDestination(resource, tenant), "/resource");
  const start = requirePage(page, { subject: { ...subject, id: undefined }, action, resource, context });
  const { type } = subject;
  const { model } = tenant;
  const none = (reason: AccessReason) => answer(call, pageView({ found: [], nextToken: "" }, type, reason));
  if (action.name !== connect) return none("unknown_action");
  if (type !== "user" && type !== "device") return none("unknown_subject_type");
  if (typeof destination === "string") return none(destination);
  const { denied } = resolveDestination(model, destination);
  if (denied !== undefined) return none(denied);
  const search = pageOf(candidates(type, destination, circumstances, tenant), start, function* (id) {
    const name = type === "user" ? model.users.get(id)?.facts.email : model.devices.get(id)?.facts.name;
    const asking = readSubject({ ...subject, id }, circumstances, tenant);
    if (name === undefined || typeof asking === "string") return undefined;
    return yield* foundAs(id, name, { ...circumstances, subject: asking, destination }, tenant);
  });
  return answer(call, pageView(await call.evaluate("The decisions of this page", search), type));
}

/** The candidates of a search. If the request names a device, only its owner can be found. */
function* candidates(
  type: "user" | "device",
  destination: Destination,
  { deviceId }: Circumstances,
  { model }: TenantModel,
): Work<Iterable<string>> {
  if (type === "device" || deviceId === undefined) return yield* possibleSubjects(model, type, destination);
  const owner = model.devices.get(deviceNamed(model, deviceId))?.facts.userId ?? undefined;
  return owner === undefined ? [] : [owner];
}

export async function searchResources(call: Call<typeof operations.searchResources>): Promise<Outcome> {
  const tenant = await call.model();
  const { subject, action, resource, context, page } = call.body;
  const circumstances = requireCircumstances(context, "", call.now);
  const start = requirePage(page, { subject, action, resource: { ...resource, id: undefined }, context });
  const asking = readSubject(subject, circumstances, tenant);
  const { type } = resource;
  const { model } = tenant;
  const none = (reason: AccessReason) => answer(call, pageView({ found: [], nextToken: "" }, type, reason));
  if (action.name !== connect) return none("unknown_action");
  if (typeof asking === "string") return none(asking);
  if (type !== "resource") return none("unknown_resource_type");
  const principal = resolvePrincipal(model, asking);
  if (typeof principal === "string") return none(principal);
  const search = pageOf(allResources(tenant), start, function* (id) {
    const destination = { kind: "resource", resourceId: id } as const;
    const name = model.resources.get(id)?.facts.name ?? id;
    return yield* foundAs(id, name, { ...circumstances, subject: asking, destination }, tenant);
  });
  return answer(call, pageView(await call.evaluate("The decisions of this page", search), type));
}

// biome-ignore lint/correctness/useYield: the candidates of other searches take longer
function* allResources({ model }: TenantModel): Work<Iterable<string>> {
  return model.resources.ids();
}

export async function searchActions(call: Call<typeof operations.searchActions>): Promise<Outcome> {
  const tenant = await call.model();
  const question = prepareQuestion({ ...call.body, action: { name: connect } }, "", call.now, tenant);
  const { decision } = await call.evaluate("The decision", decisionOn(question, tenant));
  const results = decision ? [{ name: connect }] : [];
  return answer(call, { page: { next_token: "", count: results.length }, results });
}

function* decisionOn(
  { asked, explain: isExplained, error }: PreparedQuestion,
  { model }: TenantModel,
): Work<AccessDecision> {
  if (typeof asked === "string") {
    const explanation = isExplained ? { explanation: { policies: [], otherPolicies: 0 } } : {};
    const problem = error === undefined ? {} : { error };
    return { decision: false, context: { ...refusalView(asked), ...explanation, ...problem } };
  }
  if (!isExplained) {
    const decision = yield* deciding(model, asked);
    return { decision: decision.allowed, context: decisionView(decision, model) };
  }
  const explained = yield* explaining(model, asked);
  const { decision } = explained;
  const context = { ...decisionView(decision, model), explanation: explanationView(explained, model) };
  return { decision: decision.allowed, context };
}

function* foundAs(
  id: string,
  name: string,
  request: AccessRequest,
  { model }: TenantModel,
): Work<FoundAccess | undefined> {
  const decision = yield* deciding(model, request);
  return decision.allowed ? { id, name, ...decisionView(decision, model) } : undefined;
}

function pageView({ found, nextToken }: FoundPage<FoundAccess>, type: string, reason?: AccessReason): object {
  return {
    page: { next_token: nextToken, count: found.length },
    context: reason === undefined ? { found } : { found, reason },
    results: found.map(({ id }) => ({ type, id })),
  };
}

/**
 * Answers with a report, and stores it for a request with an Idempotency-Key, like the reply of every POST. Another
 * command may hold the last database connection, so the answer is computed before the command starts.
 */
async function answer(call: Repeatable, body: object): Promise<Outcome> {
  return call.idempotency === undefined ? report(body) : call.command(async () => report(body));
}

interface Repeatable {
  readonly idempotency: IdempotencyRequest | undefined;
  command(work: () => Promise<Outcome>): Promise<Outcome>;
}
