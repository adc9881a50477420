/** Revertible settings of each type of record, under the names of its fields in the API. */
import type { ReferencedNoun } from "../../../platform/record-references.ts";
import { embeddedId, isState, itemsIn, type State, textIn } from "./recorded-state.ts";

interface FieldName {
  readonly name: string;
  /** The kind of record whose ids the field holds. */
  readonly refersTo?: ReferencedNoun;
}

/** A field that is restored as a whole. */
export interface ValueField extends FieldName {
  readonly kind: "value";
  readonly read: (state: State) => unknown;
}

/** A list field. A revert restores only the items that the event added or removed. */
export interface ItemsField extends FieldName {
  /** Whether the order of the items has a meaning. */
  readonly kind: "set" | "list";
  readonly read: (state: State) => readonly string[];
}

export type Field = ValueField | ItemsField;

function value(name: string, absent: unknown = undefined): ValueField {
  return { kind: "value", name, read: (state) => state[name] ?? absent };
}

function text(name: string): ValueField {
  return { kind: "value", name, read: (state) => textIn(state, name) };
}

function items(kind: ItemsField["kind"], name: string, refersTo?: ReferencedNoun): ItemsField {
  return { kind, name, read: (state) => itemsIn(state, name), ...(refersTo === undefined ? {} : { refersTo }) };
}

/** One of the settings that only the entries of `replaceGatewaySettings` hold. */
function siteSetting(name: string): ValueField {
  return { kind: "value", name, read: ({ settings }) => (isState(settings) ? settings[name] : undefined) };
}

/** A reference of an access test, without the name that the API adds. */
function testReference(name: "subject" | "resource"): ValueField {
  return {
    kind: "value",
    name,
    read: ({ [name]: reference }) => {
      if (!isState(reference)) return undefined;
      const { name: _name, ...own } = reference;
      return own;
    },
  };
}

/** Roles that were assigned directly. Only operations on roles change them: other entries show inherited roles too. */
export const directRoles: ItemsField = {
  kind: "set",
  name: "roles",
  read: ({ roles }) =>
    Array.isArray(roles)
      ? roles.filter(isState).flatMap((role) => (role.type === "OWNER" ? [] : [textIn(role, "id")]))
      : [],
};

/** The field of a resource that is restored address by address. */
export const addressesField = "addresses";

const fieldsByType: Readonly<Record<string, readonly Field[]>> = {
  user: [
    text("firstName"),
    text("lastName"),
    text("image"),
    value("maxDevices", null),
    value("attributes", {}),
    items("set", "groups", "group"),
    { kind: "value", name: "active", read: ({ status }) => status !== "inactive" },
  ],
  group: [
    value("name"),
    text("description"),
    value("maxDevices"),
    value("deviceSessionLifetime", null),
    items("set", "roles"),
    items("set", "idpMapping"),
    value("isSamlDefaultGroup"),
  ],
  device: [value("active"), value("posture", {}), value("tags", [])],
  gateway: [
    value("name"),
    value("wireguardPort"),
    text("endpoint"),
    text("description"),
    value("relayEnabled", false),
    { kind: "value", name: "maintenance", read: ({ status }) => status === "MAINTENANCE" },
    siteSetting("resolvers"),
    siteSetting("domains"),
    siteSetting("networks"),
    siteSetting("relayPort"),
  ],
  resource: [value("name"), text("description"), value("loadBalancingMode"), items("list", "gateways", "gateway")],
  address: [value("address"), items("list", "protocols", "protocol"), value("answersWithin", null)],
  "admission-rule": [value("name"), text("rule"), value("hasTimeConstraint")],
  policy: [
    value("name"),
    value("action"),
    value("mode"),
    value("allUsers", false),
    value("allGroups", false),
    value("allDevices", false),
    value("allResources", false),
    items("set", "groups", "group"),
    items("set", "users", "user"),
    items("set", "devices", "device"),
    items("set", "resources", "resource"),
    items("list", "gateways", "gateway"),
    items("list", "sourceIps"),
    { kind: "value", name: "rule", refersTo: "admission-rule", read: (state) => embeddedId(state, "rule") },
    text("description"),
    value("active"),
  ],
  "access-test": [
    value("name"),
    text("description"),
    value("enforced"),
    testReference("subject"),
    value("device"),
    testReference("resource"),
    value("context", {}),
    value("expected"),
  ],
  "tenant-settings": [
    value("configurationLifetime"),
    value("sessionLifetime"),
    value("sessionIdleTime"),
    value("singleSignOnOnly"),
    value("deviceApproval"),
    value("deviceSessionLifetime"),
  ],
  webhook: [value("name"), value("url"), items("set", "events"), value("active"), text("description")],
};

const roleOperations: ReadonlySet<string> = new Set(["updateUserRoles", "removeRoleFromUser"]);

/** The settings that an operation on a type of record can have changed; empty if none can be restored. */
export function fieldsOf(type: string, operation: string): readonly Field[] {
  if (type === "user" && roleOperations.has(operation)) return [directRoles];
  return fieldsByType[type] ?? [];
}
