/** Requests that create a deleted record of each type again, with the state that its deletion recorded. */
import type { Change } from "@gatehouse/contract/records/change-set";
import type { Irrevertible } from "@gatehouse/contract/records/revert";
import { missingProtocols } from "./address-changes.ts";
import { cannot } from "./reasons.ts";
import { directRoles, fieldsOf } from "./record-fields.ts";
import { embeddedId, embeddedIn, isState, itemsIn, type State, textIn } from "./recorded-state.ts";
import type { CurrentState, RevertedEvent } from "./revert-plan.ts";
import { missingRecord, testReferenceOf } from "./update-plan.ts";
import { addressBody, rolesRequest } from "./update-requests.ts";

interface Context {
  readonly reverted: RevertedEvent;
  readonly state: CurrentState;
  /** The reference to the created record in later changes. */
  readonly ref: string;
}

type Recreation =
  | {
      readonly create: Change;
      readonly afterwards: readonly Change[];
      readonly cannot: readonly Irrevertible[];
    }
  | { readonly cannot: readonly Irrevertible[] };

type Recreate = (before: State, context: Context) => Recreation;

function post(path: string, body: object): Change {
  return { method: "POST", path, body };
}

/** The references in a field, divided into records that exist and those that do not. */
function references(
  before: State,
  field: string,
  noun: Parameters<CurrentState["exists"]>[0],
  state: CurrentState,
): { readonly known: readonly string[]; readonly cannot: readonly Irrevertible[] } {
  const ids = itemsIn(before, field);
  return {
    known: ids.filter((id) => state.exists(noun, id)),
    cannot: ids.filter((id) => !state.exists(noun, id)).map((id) => missingRecord(field, noun, id)),
  };
}

/** Omits empty texts, which some operations do not accept. */
function withoutEmpty(body: State): object {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== "" && value !== undefined));
}

/**
 * The types of the roles that a group gave at the time of the event. Its roles may have changed since, and the group
 * may have been deleted.
 *
 * @returns undefined if neither the group nor the entry of its deletion is known any more, or if not all later entries
 * are known
 */
function rolesOfGroup(
  id: string,
  { later, laterIsComplete }: RevertedEvent,
  state: CurrentState,
): readonly string[] | undefined {
  const next = later.find(
    ({ target, before = {}, after = {} }) =>
      target.type === "group" && target.id === id && ("roles" in before || "roles" in after),
  );
  if (next === undefined && !(laterIsComplete && state.exists("group", id))) return undefined;
  const { roles } = next?.before ?? (next === undefined ? state.record("group", id) : undefined) ?? {};
  if (!Array.isArray(roles)) return [];
  // Entries of applied configurations hold the types of roles instead of roles.
  return roles.flatMap((role: unknown) =>
    typeof role === "string" ? [role] : isState(role) ? [textIn(role, "type")] : [],
  );
}

function recreateUser(before: State, { reverted, state, ref }: Context): Recreation {
  const email = textIn(before, "email");
  if (email === "") return { cannot: [cannot("unsupported")] };
  const groups = references(before, "groups", "group", state);
  const at = `/tenants/users/${ref}`;
  const profile = withoutEmpty({
    firstName: textIn(before, "firstName"),
    lastName: textIn(before, "lastName"),
    image: textIn(before, "image"),
  });
  const { maxDevices = null, attributes = {} } = before;
  const given = itemsIn(before, "groups").map((id) => rolesOfGroup(id, reverted, state));
  const inherited = new Set(given.flat());
  const isInDoubt = given.includes(undefined);
  // The entry does not distinguish direct from inherited roles. A role that no group gave was assigned directly. No
  // revert may turn an inherited role into a direct one.
  const roles = isInDoubt ? [] : embeddedIn(before, "roles").filter((role) => !inherited.has(textIn(role, "type")));
  const direct = directRoles.read({ roles });
  const ownsDevices = reverted.generation.some(
    ({ target, before: old }) => target.type === "device" && embeddedId(old ?? {}, "user") === reverted.event.target.id,
  );
  return {
    create: post("/tenants/users", { email, groups: groups.known }),
    afterwards: [
      ...(Object.keys(profile).length === 0 ? [] : [{ method: "PUT", path: at, body: profile } as const]),
      ...(maxDevices === null && Object.keys(attributes as object).length === 0
        ? []
        : [{ method: "PATCH", path: at, body: { maxDevices, attributes } } as const]),
      ...rolesRequest(at, { added: direct, removed: [] }),
      ...(before.status === "inactive" ? [{ method: "PATCH", path: `${at}/deactivate` } as const] : []),
    ],
    cannot: [
      ...groups.cannot,
      ...(isInDoubt && itemsIn(before, "roles").length > 0
        ? [cannot("unsupported", { field: "roles", message: leftOutRoles })]
        : []),
      ...(before.status === "active" ? [cannot("user_status", { field: "status" })] : []),
      ...(ownsDevices ? [cannot("devices", { field: "devices" })] : []),
    ],
  };
}

const leftOutRoles =
  "A group of the user was deleted, and its roles are not known any more. All roles are left out. Assign those that the user needs.";

function recreateGroup(before: State): Recreation {
  const body = {
    name: before.name,
    description: textIn(before, "description"),
    maxDevices: before.maxDevices,
    ...(before.deviceSessionLifetime === undefined ? {} : { deviceSessionLifetime: before.deviceSessionLifetime }),
    roles: itemsIn(before, "roles"),
    idpMapping: itemsIn(before, "idpMapping"),
  };
  return { create: post("/tenants/groups", body), afterwards: [], cannot: [] };
}

function recreateDevice(before: State, { state, ref }: Context): Recreation {
  const userId = embeddedId(before, "user");
  if (userId === undefined) return { cannot: [cannot("unsupported", { message: "The device belonged to no user." })] };
  if (!state.exists("user", userId)) return { cannot: [missingRecord("user", "user", userId)] };
  const { name, hardwareId, publicKey, appVersion, os, osVersion, posture } = before;
  const body = withoutEmpty({ userId, name, hardwareId, publicKey, appVersion, os, osVersion, posture });
  const runsAgent = before.agent !== false;
  return {
    create: post("/tenants/devices", runsAgent ? body : { ...body, agent: false }),
    afterwards: [
      ...(itemsIn(before, "tags").length === 0
        ? []
        : [{ method: "PUT", path: `/tenants/devices/${ref}/tags`, body: { tags: before.tags } } as const]),
      ...(before.active === false ? [{ method: "PATCH", path: `/tenants/devices/${ref}/deactivate` } as const] : []),
    ],
    cannot: runsAgent
      ? [cannot("secret", { field: "token", message: "The device gets no token. Rotate its token, and enter it." })]
      : [],
  };
}

function recreateGateway(before: State, { state, ref }: Context): Recreation {
  const at = `/tenants/gateways/${ref}`;
  const { name, wireguardPort } = before;
  const texts = { description: textIn(before, "description"), endpoint: textIn(before, "endpoint") };
  const resources = references(before, "resources", "resource", state);
  return {
    create: post("/tenants/gateways", { name, wireguardPort, ...withoutEmpty(texts) }),
    afterwards: [
      ...(before.relayEnabled === true ? [postEmpty(`${at}/enable-relay`)] : []),
      ...(before.status === "MAINTENANCE" ? [postEmpty(`${at}/enter-maintenance`)] : []),
      ...resources.known.map((id) => ({ method: "PUT", path: `/tenants/resources/${id}/gateways/${ref}` }) as const),
    ],
    cannot: [
      cannot("secret", { field: "token", message: "The gateway gets a new token. Deploy the gateway again with it." }),
      cannot("gateway_settings", { field: "settings" }),
      ...(resources.known.length === 0 ? [] : [cannot("gateway_priority", { field: "resources" })]),
      ...resources.cannot,
    ],
  };
}

/** A POST without a body. */
function postEmpty(path: string): Change {
  return { method: "POST", path };
}

function recreateResource(before: State, { state, ref }: Context): Recreation {
  const gateways = references(before, "gateways", "gateway", state);
  const addresses = embeddedIn(before, "addresses");
  const exists = (id: string) => state.exists("protocol", id);
  const body = {
    name: before.name,
    type: before.type,
    addresses: addresses.map((address) => addressBody(address, exists)),
    ...withoutEmpty({ description: textIn(before, "description") }),
  };
  const { loadBalancingMode } = before;
  const balanced = gateways.known.length > 0 || loadBalancingMode === "AUTOMATIC";
  const balancing = { loadBalancingMode, gateways: gateways.known };
  return {
    create: post("/tenants/resources", body),
    afterwards: balanced ? [post(`/tenants/resources/${ref}/loadBalancing`, balancing)] : [],
    cannot: [...gateways.cannot, ...addresses.flatMap((address) => missingProtocols(address, state))],
  };
}

function recreateAddress(before: State, { state }: Context): Recreation {
  const resource = embeddedId(before, "resource") ?? "";
  if (!state.exists("resource", resource)) return { cannot: [missingRecord("resource", "resource", resource)] };
  return {
    create: post(
      `/tenants/resources/${resource}/addresses`,
      addressBody(before, (id) => state.exists("protocol", id)),
    ),
    afterwards: [],
    cannot: missingProtocols(before, state),
  };
}

function recreateProtocol({ name, networkProtocols }: State): Recreation {
  return { create: post("/tenants/protocols", { name, networkProtocols }), afterwards: [], cannot: [] };
}

function recreateRule({ name, rule, hasTimeConstraint }: State): Recreation {
  return { create: post("/tenants/admission-rules", { name, rule, hasTimeConstraint }), afterwards: [], cannot: [] };
}

function recreatePolicy(before: State, { state, ref }: Context): Recreation {
  const rule = embeddedId(before, "rule");
  if (rule !== undefined && !state.exists("admission-rule", rule)) {
    return { cannot: [missingRecord("rule", "admission-rule", rule)] };
  }
  const { type } = before;
  const reasons: Irrevertible[] = [];
  const body: Record<string, unknown> = { type };
  for (const field of fieldsOf("policy", "")) {
    if (field.name === "active") continue;
    const { refersTo, name } = field;
    if (field.kind !== "value" && refersTo !== undefined) {
      const { known, cannot: missing } = references(before, name, refersTo, state);
      body[name] = known;
      reasons.push(...missing);
    } else {
      const value = field.read(before);
      if (value !== undefined) body[name] = value;
    }
  }
  const others = state.policyOrder;
  const place = others.filter(({ order }) => order < Number(before.order)).length;
  const policies = others.map(({ id }) => id).toSpliced(place, 0, ref);
  return {
    create: post("/tenants/policies", body),
    afterwards: [
      ...(before.active === false ? [{ method: "PATCH", path: `/tenants/policies/${ref}/deactivate` } as const] : []),
      ...(place === others.length ? [] : [post("/tenants/policies/reorder", { type, policies })]),
    ],
    cannot: reasons,
  };
}

function recreateAccessTest(before: State, { state }: Context): Recreation {
  const body: Record<string, unknown> = {};
  for (const field of fieldsOf("access-test", "")) {
    const value = field.read(before);
    const reference = testReferenceOf(value);
    if (reference !== undefined && !state.exists(reference.noun, reference.id)) {
      return { cannot: [missingRecord(field.name, reference.noun, reference.id)] };
    }
    if (value !== undefined) body[field.name] = value;
  }
  return { create: post("/tenants/access-tests", body), afterwards: [], cannot: [] };
}

export const recreations: Readonly<Record<string, Recreate>> = {
  user: recreateUser,
  group: recreateGroup,
  device: recreateDevice,
  gateway: recreateGateway,
  resource: recreateResource,
  address: recreateAddress,
  protocol: recreateProtocol,
  "admission-rule": recreateRule,
  policy: recreatePolicy,
  "access-test": recreateAccessTest,
  webhook: () => ({
    cannot: [
      cannot("secret", {
        message:
          "The secret of a webhook is deleted with the webhook. Create the webhook again, and configure its new secret in the receiver.",
      }),
    ],
  }),
};
