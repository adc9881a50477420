/**
 * The policy decision point: OpenID AuthZEN Authorization API 1.0. Its objects are open: unknown fields are ignored.
 */
import Type, { type Static, type TProperties } from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { AccessFindings } from "../records/access-findings.ts";
import { AccessDecision, AccessDecisions, accessReasons, FoundAccess } from "../records/decision.ts";
import { AccessHistory, PastAccess } from "../records/past-access.ts";
import {
  closedObject,
  component,
  componentKeyword,
  documentedIpAddress,
  documentedKeyword,
  oneOf,
  validatedLaterKeyword,
} from "../schema.ts";

const tag = "Access";

/** The most evaluations in a batch, and the most of them that can be explained. */
export const maxEvaluations = 1_000;
export const maxExplanations = 10;

/** Results on a page of a search: the default, and the maximum. */
export const defaultSearchPage = 100;
export const maxSearchPage = 1_000;

function openObject<P extends TProperties>(properties: P, options: object = {}) {
  return Type.Object(properties, { additionalProperties: true, ...options });
}

function openComponent<P extends TProperties>(name: string, description: string, properties: P) {
  return openObject(properties, { [componentKeyword]: name, description });
}

/** The maximum number of properties of a subject. */
export const maxProperties = 64;

/** Limits of caller-supplied properties: the same as for stored attributes and posture, since rules read both. */
const boundedProperties = {
  type: "object",
  maxProperties,
  propertyNames: { minLength: 1, maxLength: 64 },
  additionalProperties: { maxLength: 256 },
};

const SubjectProperties = Type.Unsafe<Readonly<Record<string, unknown>>>({
  ...boundedProperties,
  description:
    "Override stored facts of the same name: attributes of a user, posture of a device. In the object `posture`, they override posture in either case. Values other than strings, numbers and booleans count as missing. At most 64 entries; strings of at most 256 characters.",
  properties: { posture: boundedProperties },
});

const EntityType = Type.String({ minLength: 1, maxLength: 64 });
const EntityId = Type.String({ minLength: 1, maxLength: 256 });

export const AccessSubject = openComponent("AccessSubject", "The subject that requests access.", {
  type: Type.Unsafe<string>({
    ...EntityType,
    description: "`user` or `device`. Requests with any other type are denied.",
  }),
  id: Type.Unsafe<string>({
    ...EntityId,
    description: "Id or email address of a user, or id of a device.",
  }),
  properties: Type.Optional(SubjectProperties),
});

export const AccessResource = openComponent("AccessResource", "The destination of the request.", {
  type: Type.Unsafe<string>({
    ...EntityType,
    description: "`resource` or `address`. Requests with any other type are denied.",
  }),
  id: Type.Unsafe<string>({
    ...EntityId,
    description: "Id or name of a resource; for `address`, an IP address or a host name.",
  }),
  properties: Type.Optional(
    openObject({}, { description: "For `address`: `protocol` (TCP, UDP or ICMP) and `port` (1 to 65535)." }),
  ),
});

export const AccessAction = openComponent("AccessAction", "The action that the subject would perform.", {
  name: Type.String({
    minLength: 1,
    maxLength: 64,
    description: "`connect`. Requests with any other action are denied.",
  }),
  properties: Type.Optional(openObject({})),
});

export const AccessContext = openComponent("AccessContext", "The circumstances of the request.", {
  deviceId: Type.Optional(
    Type.Unsafe<string>({
      ...EntityId,
      description: "Id of the device that the user uses. Ignored if the subject is a device.",
    }),
  ),
  sourceIp: Type.Optional(
    Type.String({ ...documentedIpAddress, maxLength: 64, description: "Source IP address of the request." }),
  ),
  country: Type.Optional(Type.String({ pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2, such as DE." })),
  time: Type.Optional(
    Type.String({
      [documentedKeyword]: { format: "date-time" },
      maxLength: 40,
      description: "Time of the request in ISO 8601, with a time zone; now by default. Seconds are optional.",
    }),
  ),
  explain: Type.Optional(Type.Boolean({ description: "Whether to include an explanation of the decision." })),
});

const evaluation = {
  subject: AccessSubject,
  action: AccessAction,
  resource: AccessResource,
  context: Type.Optional(AccessContext),
};

const optionalEvaluation = {
  subject: Type.Optional(AccessSubject),
  action: Type.Optional(AccessAction),
  resource: Type.Optional(AccessResource),
  context: Type.Optional(AccessContext),
};

/** An evaluation of a batch, with the fields that the batch has no defaults for. */
export const BatchEvaluation = openObject(optionalEvaluation);

export const evaluateAccess = operation({
  id: "evaluateAccess",
  method: "POST",
  path: "/access/v1/evaluation",
  tag,
  summary: "Evaluate one access request",
  description:
    "Access Evaluation API of OpenID AuthZEN Authorization API 1.0. A denial also has status 200, with `decision` false and a reason.",
  access: "decisions:read",
  body: openObject(evaluation),
  success: { status: 200, kind: "report", body: AccessDecision },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});

export const evaluationsSemantics = ["execute_all", "deny_on_first_deny", "permit_on_first_permit"] as const;

export const evaluateAccessBatch = operation({
  id: "evaluateAccessBatch",
  method: "POST",
  path: "/access/v1/evaluations",
  tag,
  summary: "Evaluate a batch of access requests",
  description: `Access Evaluations API of OpenID AuthZEN Authorization API 1.0. Fields beside \`evaluations\` are defaults for every evaluation. Without \`evaluations\`, the response is a single decision. A batch can have at most ${maxEvaluations} evaluations, of which ${maxExplanations} can be explained. All are decided by the same state of the tenant. An invalid evaluation is denied by itself, with the reason \`invalid_evaluation\`.`,
  access: "decisions:read",
  body: openObject(
    {
      ...optionalEvaluation,
      evaluations: Type.Optional(
        Type.Unsafe<Static<typeof BatchEvaluation>[]>(
          // An evaluation of another form is denied by itself.
          Type.Array({ ...BatchEvaluation, [validatedLaterKeyword]: true }, { maxItems: maxEvaluations }),
        ),
      ),
      options: Type.Optional(
        openObject({
          evaluations_semantic: Type.Optional(
            oneOf(evaluationsSemantics, {
              description: "Whether to evaluate all requests, or to stop at the first denial or the first permission.",
            }),
          ),
        }),
      ),
    },
    {
      [documentedKeyword]: {
        anyOf: [
          { required: ["subject", "action", "resource"] },
          { required: ["evaluations"], properties: { evaluations: { minItems: 1 } } },
        ],
      },
    },
  ),
  success: {
    status: 200,
    kind: "report",
    body: Type.Unsafe<AccessDecision | AccessDecisions>({ anyOf: [AccessDecision, AccessDecisions] }),
  },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});

const PageRequest = Type.Optional(
  openComponent("AccessPageRequest", "The page of results to return.", {
    token: Type.Optional(
      Type.String({
        [documentedKeyword]: { format: "page-token" },
        maxLength: 1_000,
        description:
          "The `next_token` of the previous page of the same search. Empty for the first page. Other values are refused.",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: `The most results on the page: ${defaultSearchPage} by default, ${maxSearchPage} at most; larger values are reduced to that. A page can have fewer.`,
      }),
    ),
  }),
);

const page = component("AccessPage", "The position of a page in the results.", {
  next_token: Type.String({ description: "Token of the next page; empty on the last page." }),
  count: Type.Integer({ minimum: 0, description: "Number of results on this page." }),
});

const searchContext = component("AccessSearchContext", "Details of the results.", {
  found: Type.Array(FoundAccess, { description: "Names and decisions of the results, in the same order." }),
  reason: Type.Optional(
    oneOf(accessReasons, {
      description: "Why there are no results before any policy is evaluated, such as `unknown_user`.",
    }),
  ),
});

/** The searched entity, of which only the type matters. */
const searched = (types: string) => ({
  type: Type.Unsafe<string>({ ...EntityType, description: `${types}. Other types have no results.` }),
});

const entities = (name: string, description: string) =>
  closedObject({
    page,
    context: searchContext,
    results: Type.Array(component(name, description, { type: Type.String(), id: Type.String() })),
  });

export const searchSubjects = operation({
  id: "searchSubjects",
  method: "POST",
  path: "/access/v1/search/subject",
  tag,
  summary: "Search for subjects that can access a resource",
  description: "Subject Search API of OpenID AuthZEN Authorization API 1.0. Results are ordered by id.",
  access: "decisions:read",
  body: openObject({
    subject: openObject({ ...searched("`user` or `device`"), properties: Type.Optional(SubjectProperties) }),
    action: AccessAction,
    resource: AccessResource,
    context: Type.Optional(AccessContext),
    page: PageRequest,
  }),
  success: { status: 200, kind: "report", body: entities("FoundSubject", "A subject that has access.") },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});

export const searchResources = operation({
  id: "searchResources",
  method: "POST",
  path: "/access/v1/search/resource",
  tag,
  summary: "Search for resources that a subject can access",
  description: "Resource Search API of OpenID AuthZEN Authorization API 1.0. Results are ordered by id.",
  access: "decisions:read",
  body: openObject({
    subject: AccessSubject,
    action: AccessAction,
    resource: openObject(searched("`resource`")),
    context: Type.Optional(AccessContext),
    page: PageRequest,
  }),
  success: { status: 200, kind: "report", body: entities("FoundResource", "A resource that the subject can access.") },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});

export const searchActions = operation({
  id: "searchActions",
  method: "POST",
  path: "/access/v1/search/action",
  tag,
  summary: "Search for actions that a subject can perform on a resource",
  description: "Action Search API of OpenID AuthZEN Authorization API 1.0. The result is `connect` or empty.",
  access: "decisions:read",
  body: openObject({
    subject: AccessSubject,
    resource: AccessResource,
    context: Type.Optional(AccessContext),
    page: PageRequest,
  }),
  success: {
    status: 200,
    kind: "report",
    body: closedObject({
      page,
      results: Type.Array(component("FoundAction", "An action that is permitted.", { name: Type.String() })),
    }),
  },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});

export const listPastAccess = operation({
  id: "listPastAccess",
  method: "GET",
  path: "/tenants/access",
  tag,
  summary: "List access at a point in time",
  description:
    "Evaluates the tenant's records as they were at that time. The results are the resources that a user (with and without each device) or a device could reach, or everyone who could reach a resource. At least one of `user`, `device` and `resource` is required. Results are ordered by user, device and resource. To read more than one page, set `at`.",
  access: "decisions:read",
  success: {
    status: 200,
    kind: "page",
    item: PastAccess,
    list: list({ sort: [], filter: {} }),
    query: {
      at: { description: "Point in time in ISO 8601, with a time zone; now by default.", maxLength: 40 },
      user: { description: "Id or email address of a user, as it was then.", maxLength: 256 },
      device: { description: "Id of a device.", maxLength: 64 },
      resource: { description: "Id or name of a resource, as it was then.", maxLength: 256 },
      sourceIp: { description: "Source IP address of the requests; none by default.", maxLength: 64 },
      country: { description: "Source country of the requests, such as DE; none by default.", maxLength: 2 },
    },
  },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded", "not_found", "before_history"],
});

export const readAccessHistory = operation({
  id: "readAccessHistory",
  method: "GET",
  path: "/tenants/access/history",
  tag,
  summary: "Read the bounds of the history of access",
  description:
    "The earliest time for which access at a point in time can be listed, and the generation in force at the requested time. To list access at that time, pass the returned `at`.",
  access: "decisions:read",
  success: {
    status: 200,
    kind: "report",
    body: AccessHistory,
    query: { at: { description: "Point in time in ISO 8601, with a time zone; now by default.", maxLength: 40 } },
  },
});

export const findAccessFindings = operation({
  id: "findAccessFindings",
  method: "GET",
  path: "/tenants/access/findings",
  tag,
  summary: "Find unreachable resources and policies without effect",
  description:
    "Evaluates the tenant's current records. Every finding is certain, but the list can be incomplete if the cause is a combination of several policies. Resources of type INTERNET and default policies are not examined.",
  access: "decisions:read",
  success: { status: 200, kind: "report", body: AccessFindings },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});
