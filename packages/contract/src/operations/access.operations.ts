/** The policy decision point: OpenID AuthZEN Authorization API 1.0. Its objects are open: fields that it does not know are ignored. */
import Type, { type TProperties } from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { AccessFindings } from "../records/access-findings.ts";
import { AccessDecision, AccessDecisions, FoundAccess } from "../records/decision.ts";
import { PastAccess } from "../records/past-access.ts";
import { closedObject, component, componentKeyword, oneOf } from "../schema.ts";

const tag = "Access";

/** The most evaluations of a batch, and how many of them may be explained. */
export const mostEvaluations = 1_000;
export const mostExplanations = 10;

/** Results on a page of a search: where the request names no limit, and at most. */
export const usualPage = 100;
export const largestPage = 1_000;

function openObject<P extends TProperties>(properties: P, options: object = {}) {
  return Type.Object(properties, { additionalProperties: true, ...options });
}

function openComponent<P extends TProperties>(name: string, description: string, properties: P) {
  return openObject(properties, { [componentKeyword]: name, description });
}

/** As stored attributes and posture are bounded: rules are evaluated with them. */
const boundedProperties = {
  type: "object",
  maxProperties: 64,
  propertyNames: { minLength: 1, maxLength: 64 },
  additionalProperties: { maxLength: 256 },
};

const SubjectProperties = Type.Unsafe<Readonly<Record<string, unknown>>>({
  ...boundedProperties,
  description:
    "Stand in for stored facts of the same names: of a user for attributes, of a device for posture. In `posture`, an object, for posture in either case. What is neither text, number nor boolean counts as absent. At most 64 entries; texts of at most 256 characters.",
  properties: { posture: boundedProperties },
});

const EntityType = Type.String({ minLength: 1, maxLength: 64 });
const EntityId = Type.String({ minLength: 1, maxLength: 256 });

export const AccessSubject = openComponent("AccessSubject", "Who asks.", {
  type: Type.Unsafe<string>({ ...EntityType, description: "`user` or `device`; any other type is denied." }),
  id: Type.Unsafe<string>({
    ...EntityId,
    description: "Of a user, the id or the e-mail address; of a device, the id.",
  }),
  properties: Type.Optional(SubjectProperties),
});

export const AccessResource = openComponent("AccessResource", "What is asked for.", {
  type: Type.Unsafe<string>({ ...EntityType, description: "`resource` or `address`; any other type is denied." }),
  id: Type.Unsafe<string>({
    ...EntityId,
    description: "Of a resource, the id or the name; as address, an IP address or a host name.",
  }),
  properties: Type.Optional(
    openObject({}, { description: "Of an address: `protocol`, TCP, UDP or ICMP, and `port`, 1 to 65535." }),
  ),
});

export const AccessAction = openComponent("AccessAction", "What the subject would do.", {
  name: Type.String({ minLength: 1, maxLength: 64, description: "`connect`; any other action is denied." }),
  properties: Type.Optional(openObject({})),
});

export const AccessContext = openComponent("AccessContext", "The circumstances.", {
  deviceId: Type.Optional(
    Type.Unsafe<string>({
      ...EntityId,
      description: "The device that a user has. Not asked where a device is the subject.",
    }),
  ),
  sourceIp: Type.Optional(Type.String({ maxLength: 64, description: "The IP address that the request comes from." })),
  country: Type.Optional(Type.String({ pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2, such as DE." })),
  time: Type.Optional(
    Type.String({ maxLength: 40, description: "ISO 8601, with a zone; absent: now. Seconds may be left out." }),
  ),
  explain: Type.Optional(Type.Boolean({ description: "Whether the answer is to explain the decision." })),
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

export const evaluateAccess = operation({
  id: "evaluateAccess",
  method: "POST",
  path: "/access/v1/evaluation",
  tag,
  summary: "Decide one request for access",
  description:
    "Access Evaluation API of OpenID AuthZEN Authorization API 1.0. A denial is an answer too: 200, with `decision` false and the reason.",
  access: "decisions:read",
  body: openObject(evaluation),
  success: { status: 200, kind: "report", body: AccessDecision },
});

export const evaluationsSemantics = ["execute_all", "deny_on_first_deny", "permit_on_first_permit"] as const;

export const evaluateAccessBatch = operation({
  id: "evaluateAccessBatch",
  method: "POST",
  path: "/access/v1/evaluations",
  tag,
  summary: "Decide many requests for access",
  description: `Access Evaluations API of OpenID AuthZEN Authorization API 1.0. What stands beside \`evaluations\` is what an evaluation has that does not say otherwise. Without evaluations, it decides one request as the other operation does. At most ${mostEvaluations} at a time, of which ${mostExplanations} may be explained. All are decided by the same state of the tenant.`,
  access: "decisions:read",
  body: openObject({
    ...optionalEvaluation,
    evaluations: Type.Optional(Type.Array(openObject(optionalEvaluation), { maxItems: mostEvaluations })),
    options: Type.Optional(
      openObject({
        evaluations_semantic: Type.Optional(
          oneOf(evaluationsSemantics, {
            description: "Decide all; or only up to the first denial; or up to the first permission.",
          }),
        ),
      }),
    ),
  }),
  success: {
    status: 200,
    kind: "report",
    body: Type.Unsafe<AccessDecision | AccessDecisions>({ anyOf: [AccessDecision, AccessDecisions] }),
  },
});

const PageRequest = Type.Optional(
  openComponent("AccessPageRequest", "Which part of the results.", {
    token: Type.Optional(Type.String({ maxLength: 1_000, description: "The `next_token` of the page before." })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: `Results on a page: ${usualPage} where absent; above ${largestPage} it is taken for ${largestPage}. A page may have fewer.`,
      }),
    ),
  }),
);

const page = component("AccessPage", "Where in the results a page is.", {
  next_token: Type.String({ description: "For the next page; empty on the last." }),
  count: Type.Integer({ minimum: 0, description: "Results on this page." }),
});

const searchContext = component("AccessSearchContext", "What is known of the results.", {
  found: Type.Array(FoundAccess, { description: "The results in their order, with names and decisions." }),
});

/** Of what is searched for, only the type counts. */
const searched = (types: string) => ({
  type: Type.Unsafe<string>({ ...EntityType, description: `${types}; nothing of any other type is found.` }),
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
  summary: "Find who may reach something",
  description: "Subject Search API of OpenID AuthZEN Authorization API 1.0. Ordered by id.",
  access: "decisions:read",
  body: openObject({
    subject: openObject({ ...searched("`user` or `device`"), properties: Type.Optional(SubjectProperties) }),
    action: AccessAction,
    resource: AccessResource,
    context: Type.Optional(AccessContext),
    page: PageRequest,
  }),
  success: { status: 200, kind: "report", body: entities("FoundSubject", "A subject that may.") },
});

export const searchResources = operation({
  id: "searchResources",
  method: "POST",
  path: "/access/v1/search/resource",
  tag,
  summary: "Find what somebody may reach",
  description: "Resource Search API of OpenID AuthZEN Authorization API 1.0. Ordered by id.",
  access: "decisions:read",
  body: openObject({
    subject: AccessSubject,
    action: AccessAction,
    resource: openObject(searched("`resource`")),
    context: Type.Optional(AccessContext),
    page: PageRequest,
  }),
  success: { status: 200, kind: "report", body: entities("FoundResource", "A resource that may be reached.") },
});

export const searchActions = operation({
  id: "searchActions",
  method: "POST",
  path: "/access/v1/search/action",
  tag,
  summary: "Find what somebody may do with something",
  description: "Action Search API of OpenID AuthZEN Authorization API 1.0: `connect`, or nothing.",
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
});

export const listPastAccess = operation({
  id: "listPastAccess",
  method: "GET",
  path: "/tenants/access",
  tag,
  summary: "List what could be reached at a moment",
  description:
    "Decided from the tenant as it was then, for that time: by a user without a device and with each of theirs, by a device, or by everybody to a resource. At least one of `user`, `device` and `resource` has to be given. Ordered by user, device and resource. Who reads more than a page names the moment.",
  access: "decisions:read",
  success: {
    status: 200,
    kind: "page",
    item: PastAccess,
    list: list({ sort: [], filter: {} }),
    query: {
      at: { description: "The moment, in ISO 8601 with a zone; absent: now.", maxLength: 40 },
      user: { description: "The id or the e-mail address, as it was then.", maxLength: 256 },
      device: { description: "The id of a device.", maxLength: 64 },
      resource: { description: "The id or the name, as it was then.", maxLength: 256 },
      sourceIp: { description: "The IP address that the requests come from; absent: none.", maxLength: 64 },
      country: { description: "The country that they come from, such as DE; absent: none.", maxLength: 2 },
    },
  },
  errors: ["not_found", "before_history"],
});

export const findAccessFindings = operation({
  id: "findAccessFindings",
  method: "GET",
  path: "/tenants/access/findings",
  tag,
  summary: "Find resources that nobody reaches, and policies that never decide",
  description:
    "Worked out from the tenant as it is now. What is found is certain; there may be more, where it takes several policies together. Resources of type INTERNET and default policies are not looked at.",
  access: "decisions:read",
  success: { status: 200, kind: "report", body: AccessFindings },
});
