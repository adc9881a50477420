import type * as operations from "@gatehouse/contract/operations/access.operations";
import { maxExplanations } from "@gatehouse/contract/operations/access.operations";
import type { AccessDecision, FoundAccess } from "@gatehouse/contract/records/decision";
import { decide } from "@gatehouse/policy/decisions/decide";
import { explain } from "@gatehouse/policy/decisions/explain";
import type { AccessRequest, Destination } from "@gatehouse/policy/decisions/request";
import { possibleSubjects, resourceIds } from "@gatehouse/policy/decisions/search";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import type { IdempotencyRequest } from "../../../platform/idempotency.queries.ts";
import { type Outcome, report } from "../../../platform/outcome.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import { decisionView, refusalView } from "./decision.view.ts";
import { explanationView } from "./explanation.view.ts";
import { type FoundPage, type PageRequest, pageOf, readPage } from "./pages.rules.ts";
import {
  type ActionEntity,
  type Circumstances,
  type ContextEntity,
  connect,
  deviceNamed,
  type QuestionProblem,
  type QuestionReason,
  type ResourceEntity,
  readCircumstances,
  readDestination,
  readSubject,
  type SubjectEntity,
} from "./questions.rules.ts";

/** One request for a decision, whole. */
interface Question {
  readonly subject: SubjectEntity;
  readonly action: ActionEntity;
  readonly resource: ResourceEntity;
  readonly context?: ContextEntity | undefined;
}

export async function evaluateAccess(call: Call<typeof operations.evaluateAccess>): Promise<Outcome> {
  const tenant = await call.model();
  return answer(call, decisionOn(prepared(call.body, "", call.now, tenant), tenant));
}

export async function evaluateAccessBatch(call: Call<typeof operations.evaluateAccessBatch>): Promise<Outcome> {
  const tenant = await call.model();
  const { evaluations = [], options, ...defaults } = call.body;
  if (evaluations.length === 0) {
    return answer(call, decisionOn(prepared(whole(defaults, {}, ""), "", call.now, tenant), tenant));
  }
  const questions = evaluations.map((evaluation, index) => {
    const pointer = `/evaluations/${index}`;
    return prepared(whole(evaluation, defaults, pointer), pointer, call.now, tenant);
  });
  if (questions.filter(({ explain: isExplained }) => isExplained).length > maxExplanations) {
    throw invalid("/context/explain", `may be asked for ${maxExplanations} evaluations at most`);
  }
  const last = lastOf[options?.evaluations_semantic ?? "execute_all"];
  const decisions: AccessDecision[] = [];
  for (const question of questions) {
    const decision = decisionOn(question, tenant);
    decisions.push(decision);
    if (decision.decision === last) break;
  }
  return answer(call, { evaluations: decisions });
}

/** The decision after which no more are made. */
const lastOf = { execute_all: undefined, deny_on_first_deny: false, permit_on_first_permit: true } as const;

export async function searchSubjects(call: Call<typeof operations.searchSubjects>): Promise<Outcome> {
  const tenant = await call.model();
  const { subject, action, resource, context, page } = call.body;
  const circumstances = requireCircumstances(context, "", call.now);
  const destination = requireSound(readDestination(resource, tenant), "/resource");
  const start = requirePage(page, { subject: { ...subject, id: undefined }, action, resource, context });
  const { type } = subject;
  if (typeof destination === "string" || action.name !== connect || (type !== "user" && type !== "device")) {
    return answer(call, pageView({ found: [], nextToken: "" }, type));
  }
  const { model } = tenant;
  const found = pageOf(candidates(type, destination, circumstances, tenant), start, (id) => {
    const name = type === "user" ? model.users.get(id)?.facts.email : model.devices.get(id)?.facts.name;
    const asking = readSubject({ ...subject, id }, circumstances, tenant);
    return name === undefined || typeof asking === "string"
      ? undefined
      : foundAs(id, name, { ...circumstances, subject: asking, destination }, tenant);
  });
  return answer(call, pageView(found, type));
}

/** With a device, only its owner can be found. */
function candidates(
  type: "user" | "device",
  destination: Destination,
  { deviceId }: Circumstances,
  { model }: TenantModel,
): readonly string[] {
  if (type === "device" || deviceId === undefined) return possibleSubjects(model, type, destination);
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
  if (typeof asking === "string" || action.name !== connect || type !== "resource") {
    return answer(call, pageView({ found: [], nextToken: "" }, type));
  }
  const { model } = tenant;
  const found = pageOf(resourceIds(model), start, (id) => {
    const destination = { kind: "resource", resourceId: id } as const;
    const name = model.resources.get(id)?.facts.name ?? id;
    return foundAs(id, name, { ...circumstances, subject: asking, destination }, tenant);
  });
  return answer(call, pageView(found, type));
}

export async function searchActions(call: Call<typeof operations.searchActions>): Promise<Outcome> {
  const tenant = await call.model();
  const { decision } = decisionOn(prepared({ ...call.body, action: { name: connect } }, "", call.now, tenant), tenant);
  const results = decision ? [{ name: connect }] : [];
  return answer(call, { page: { next_token: "", count: results.length }, results });
}

/** A question that is sound, as far as a request can be wrong. */
interface PreparedQuestion {
  readonly explain: boolean;
  /** What is decided, or why nothing is. */
  readonly asked: AccessRequest | QuestionReason;
}

/**
 * @param pointer to the question in the body
 * @throws AppError invalid_body
 */
function prepared(question: Question, pointer: string, now: Date, tenant: TenantModel): PreparedQuestion {
  const circumstances = requireCircumstances(question.context, pointer, now);
  const destination = requireSound(readDestination(question.resource, tenant), `${pointer}/resource`);
  const subject = readSubject(question.subject, circumstances, tenant);
  const { explain, now: moment, sourceIp, country } = circumstances;
  if (question.action.name !== connect) return { explain, asked: "unknown_action" };
  if (typeof subject === "string") return { explain, asked: subject };
  if (typeof destination === "string") return { explain, asked: destination };
  return { explain, asked: { subject, destination, now: moment, sourceIp, country } };
}

function decisionOn({ asked, explain: isExplained }: PreparedQuestion, { model }: TenantModel): AccessDecision {
  if (typeof asked === "string") {
    const explanation = isExplained ? { explanation: { policies: [], otherPolicies: 0 } } : {};
    return { decision: false, context: { ...refusalView(asked), ...explanation } };
  }
  if (!isExplained) {
    const decision = decide(model, asked);
    return { decision: decision.allowed, context: decisionView(decision, model) };
  }
  const explained = explain(model, asked);
  const { decision } = explained;
  const context = { ...decisionView(decision, model), explanation: explanationView(explained, model) };
  return { decision: decision.allowed, context };
}

function foundAs(id: string, name: string, request: AccessRequest, { model }: TenantModel): FoundAccess | undefined {
  const decision = decide(model, request);
  return decision.allowed ? { id, name, ...decisionView(decision, model) } : undefined;
}

function pageView({ found, nextToken }: FoundPage<FoundAccess>, type: string): object {
  return {
    page: { next_token: nextToken, count: found.length },
    context: { found },
    results: found.map(({ id }) => ({ type, id })),
  };
}

/**
 * @param defaults what holds where the question does not say otherwise
 * @throws AppError invalid_body
 */
function whole(question: Partial<Question>, defaults: Partial<Question>, pointer: string): Question {
  const { subject = defaults.subject, action = defaults.action, resource = defaults.resource } = question;
  if (subject === undefined) throw invalid(`${pointer}/subject`, "is required");
  if (action === undefined) throw invalid(`${pointer}/action`, "is required");
  if (resource === undefined) throw invalid(`${pointer}/resource`, "is required");
  return { subject, action, resource, context: question.context ?? defaults.context };
}

/** @throws AppError invalid_body */
function requireCircumstances(context: ContextEntity | undefined, pointer: string, now: Date): Circumstances {
  return requireSound(readCircumstances(context, now), `${pointer}/context`);
}

/** @throws AppError invalid_body */
function requireSound<Value extends object | string>(value: Value | QuestionProblem, pointer: string): Value {
  if (typeof value === "object" && "pointer" in value && "message" in value) {
    throw invalid(pointer + value.pointer, value.message);
  }
  return value as Value; // it is no problem
}

/** @throws AppError invalid_body */
function requirePage(page: PageRequest | undefined, asked: object) {
  const start = readPage(page ?? {}, asked);
  if (start === undefined) throw invalid("/page/token", "is not a next_token of this very request");
  return start;
}

function invalid(pointer: string, message: string): AppError {
  return new AppError("invalid_body", { detail: `${pointer}: ${message}.`, errors: [{ pointer, message }] });
}

/**
 * Tells an answer. One with an Idempotency-Key is kept, as that of every POST; a command may hold the last connection, so the
 * answer is there before it begins.
 */
async function answer(call: Repeatable, body: object): Promise<Outcome> {
  return call.idempotency === undefined ? report(body) : call.command(async () => report(body));
}

interface Repeatable {
  readonly idempotency: IdempotencyRequest | undefined;
  command(work: () => Promise<Outcome>): Promise<Outcome>;
}
