/** Requests that give fields of an existing record their previous values. */
import type { Change } from "@gatehouse/contract/records/change-set";
import type { RestoredField } from "./merge-field.ts";
import { fieldsOf } from "./record-fields.ts";
import { itemsIn, type State, textIn } from "./recorded-state.ts";

type Method = Change["method"];

/** The fields to restore by name. */
export type RestoredFields = ReadonlyMap<string, RestoredField>;

/** A tenant has one record of settings, so that its path contains no id. */
const tenantSettingsPath = "/tenants/settings";

/** The path of the records of each type that can be restored. */
export const pathsByType: Readonly<Record<string, string>> = {
  user: "/tenants/users",
  group: "/tenants/groups",
  device: "/tenants/devices",
  gateway: "/tenants/gateways",
  resource: "/tenants/resources",
  address: "/tenants/addresses",
  protocol: "/tenants/protocols",
  "admission-rule": "/tenants/admission-rules",
  policy: "/tenants/policies",
  "access-test": "/tenants/access-tests",
  webhook: "/tenants/webhooks",
  "tenant-settings": tenantSettingsPath,
};

/** An update of one record: the fields that change, and the values of all fields afterwards. */
class Update {
  readonly at: string;
  readonly #fields: RestoredFields;
  readonly #now: State;
  readonly #type: string;

  constructor(type: string, at: string, fields: RestoredFields, now: State) {
    this.at = at;
    this.#type = type;
    this.#fields = fields;
    this.#now = now;
  }

  /** One request with those of the named fields that change; none if no field changes. */
  request(method: Method, path: string, names: readonly string[]): readonly Change[] {
    const body = Object.fromEntries(
      names.flatMap((name) => {
        // A setting that was absent, such as a policy's mode, follows from the others.
        const value = this.#fields.get(name)?.restored;
        return value === undefined ? [] : [[name, value]];
      }),
    );
    return Object.keys(body).length === 0 ? [] : [{ method, path, body }];
  }

  /** Like `request`, for operations that require all named fields. */
  whole(method: Method, path: string, names: readonly string[]): readonly Change[] {
    if (!names.some((name) => this.#fields.has(name))) return [];
    return [{ method, path, body: Object.fromEntries(names.map((name) => [name, this.#value(name)])) }];
  }

  /** The request that switches a state on or off; none if the state does not change. */
  toggle(name: string, on: readonly [Method, string], off: readonly [Method, string]): readonly Change[] {
    const field = this.#fields.get(name);
    if (field === undefined) return [];
    const [method, verb] = field.restored === true ? on : off;
    return [{ method, path: `${this.at}/${verb}` }];
  }

  /** The items that the field gains and loses. */
  items(name: string): { readonly added: readonly string[]; readonly removed: readonly string[] } {
    const { now, restored } = this.#fields.get(name) ?? { now: [], restored: [] };
    const [current, wanted] = [itemsIn({ now }, "now"), itemsIn({ restored }, "restored")];
    return {
      added: wanted.filter((item) => !current.includes(item)),
      removed: current.filter((item) => !wanted.includes(item)),
    };
  }

  #value(name: string): unknown {
    const changed = this.#fields.get(name);
    if (changed !== undefined) return changed.restored;
    return fieldsOf(this.#type, "")
      .find((field) => field.name === name)
      ?.read(this.#now);
  }
}

const activity = [
  ["POST", "reactivate"],
  ["PATCH", "deactivate"],
] as const;

const writers: Readonly<Record<string, (update: Update) => readonly Change[]>> = {
  user(update) {
    const { at } = update;
    const [groups, roles] = [update.items("groups"), update.items("roles")];
    return [
      ...update.request("PUT", at, ["firstName", "lastName", "image"]),
      ...update.request("PATCH", at, ["maxDevices", "attributes"]),
      ...groupsRequest(at, groups),
      ...rolesRequest(at, roles),
      ...update.toggle("active", ...activity),
    ];
  },
  group: (update) =>
    update.request("PUT", update.at, [
      "name",
      "description",
      "maxDevices",
      "deviceSessionLifetime",
      "roles",
      "idpMapping",
      "isSamlDefaultGroup",
    ]),
  device(update) {
    const [posture] = update.whole("PUT", `${update.at}/posture`, ["posture"]);
    return [
      ...(posture === undefined ? [] : [{ ...posture, body: postureOf(posture) }]),
      ...update.request("PUT", `${update.at}/tags`, ["tags"]),
      ...update.toggle("active", ...activity),
    ];
  },
  gateway: (update) => [
    ...update.request("PUT", update.at, ["name", "wireguardPort", "endpoint", "description"]),
    ...update.request("PUT", `${update.at}/settings`, ["resolvers", "domains", "networks", "relayPort"]),
    ...update.toggle("relayEnabled", ["POST", "enable-relay"], ["POST", "disable-relay"]),
    ...update.toggle("maintenance", ["POST", "enter-maintenance"], ["POST", "exit-maintenance"]),
  ],
  resource: (update) => [
    ...update.whole("PATCH", update.at, ["name", "description"]),
    ...update.whole("POST", `${update.at}/loadBalancing`, ["loadBalancingMode", "gateways"]),
  ],
  address: (update) => update.whole("PUT", update.at, ["address", "protocols", "answersWithin"]),
  "admission-rule": (update) => update.request("PUT", update.at, ["name", "rule", "hasTimeConstraint"]),
  policy: (update) => [
    ...update.request("PATCH", update.at, [
      "name",
      "action",
      "mode",
      "allUsers",
      "allGroups",
      "allDevices",
      "allResources",
      "groups",
      "users",
      "devices",
      "resources",
      "gateways",
      "sourceIps",
      "rule",
      "description",
    ]),
    ...update.toggle("active", ...activity),
  ],
  "access-test": (update) =>
    update.request("PUT", update.at, [
      "name",
      "description",
      "enforced",
      "subject",
      "device",
      "resource",
      "context",
      "expected",
    ]),
  "tenant-settings": (update) =>
    update.request("PUT", update.at, [
      "configurationLifetime",
      "sessionLifetime",
      "sessionIdleTime",
      "singleSignOnOnly",
      "deviceApproval",
      "deviceSessionLifetime",
    ]),
  webhook: (update) => update.request("PATCH", update.at, ["name", "url", "events", "active", "description"]),
};

/** The posture is the whole body, without a field around it. */
function postureOf({ body }: Change): object {
  const { posture } = body as { readonly posture: object }; // as written above
  return posture;
}

interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** A single request, however many groups change: a set has at most 100 changes, and a user up to 256 groups. */
function groupsRequest(at: string, { added, removed }: Difference): readonly Change[] {
  const [[joined], [left]] = [added, removed];
  if (added.length + removed.length > 1) {
    const body = {
      ...(added.length === 0 ? {} : { addedGroups: added }),
      ...(removed.length === 0 ? {} : { removedGroups: removed }),
    };
    return [{ method: "PATCH", path: `${at}/groups`, body }];
  }
  if (joined !== undefined) return [{ method: "POST", path: `${at}/groups`, body: { groupId: joined } }];
  return left === undefined ? [] : [{ method: "DELETE", path: `${at}/groups/${left}` }];
}

export function rolesRequest(at: string, { added, removed }: Difference): readonly Change[] {
  if (added.length + removed.length === 0) return [];
  const body = {
    ...(added.length === 0 ? {} : { addedRoles: added }),
    ...(removed.length === 0 ? {} : { removedRoles: removed }),
  };
  return [{ method: "PATCH", path: `${at}/roles`, body }];
}

/** The requests that give an existing record the restored values of its fields. */
export function updateRequests(
  { type, id }: { readonly type: string; readonly id: string },
  fields: RestoredFields,
  now: State,
): readonly Change[] {
  const [path, writer] = [pathsByType[type], writers[type]];
  if (path === undefined || writer === undefined || fields.size === 0) return [];
  return writer(new Update(type, path === tenantSettingsPath ? path : `${path}/${id}`, fields, now));
}

/** The fields of an address in a request. */
export function addressBody(address: State, protocolExists: (id: string) => boolean): object {
  const protocols = itemsIn(address, "protocols").filter(protocolExists);
  return { address: textIn(address, "address"), protocols, answersWithin: address.answersWithin ?? null };
}
