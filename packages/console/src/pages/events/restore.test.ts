import { GatehouseError } from "@gatehouse/client/errors";
import { describe, expect, test } from "vitest";
import { type Event, orderBefore, restorationOf, whyImpossible } from "./restore.ts";
import { withoutMissing } from "./without-missing.ts";

const id = "01980000-0000-7000-8000-000000000001";
const at = "2026-03-01T09:00:00.000Z";

function event(type: string, before: Event["before"], operation = "anything"): Event {
  return {
    id: "01980000-0000-7000-8000-00000000000e",
    position: 7,
    createdAt: at,
    generation: 7,
    actor: { type: "system", name: "Gatehouse" },
    operation,
    target: { type, id },
    ...(before === undefined ? {} : { before }),
    requestId: "01980000-0000-7000-8000-00000000000f",
  };
}

const group = {
  id,
  createdAt: at,
  updatedAt: at,
  name: "Sales",
  description: "As it was",
  maxDevices: 5,
  isSamlDefaultGroup: false,
  idpMapping: [],
  roles: [{ id: "r", name: "Basic" }],
};

describe("an existing record", () => {
  test("receives only the fields that differ", () => {
    const restoration = restorationOf(event("group", group), { ...group, description: undefined, maxDevices: 3 });
    expect(restoration).toMatchObject({
      kind: "update",
      changes: [{ method: "PUT", path: `/tenants/groups/${id}`, body: { description: "As it was", maxDevices: 5 } }],
    });
  });

  test("loses fields that it did not have", () => {
    const { description: _, ...bare } = group;
    expect(restorationOf(event("group", bare), group)).toMatchObject({ changes: [{ body: { description: "" } }] });
  });

  test("stays unchanged if no restorable field differs", () => {
    expect(restorationOf(event("group", group), { ...group, updatedAt: "2026-03-02T09:00:00.000Z" })).toEqual({
      kind: "same",
    });
  });

  test("receives a user's memberships and status in separate requests, additions first", () => {
    const user = {
      id,
      createdAt: at,
      status: "inactive",
      maxDevices: null,
      attributes: {},
      groups: [{ id: "a", name: "A" }],
    };
    const now = { ...user, status: "active", groups: [{ id: "b", name: "B" }] };
    const path = `/tenants/users/${id}`;
    expect(restorationOf(event("user", user), now)).toMatchObject({
      changes: [
        { method: "POST", path: `${path}/groups`, body: { groupId: "a" } },
        { method: "DELETE", path: `${path}/groups/b` },
        { method: "PATCH", path: `${path}/deactivate` },
      ],
    });
  });
});

const policy = {
  id,
  createdAt: at,
  name: "Wiki for all",
  type: "PRIVATE",
  action: true,
  order: 3,
  isDefault: false,
  active: false,
  allUsers: true,
  allGroups: false,
  allDevices: false,
  allResources: false,
  groups: [],
  users: [],
  devices: [],
  resources: [{ id: "w", name: "Wiki" }],
  gateways: [],
  sourceIps: [],
  rule: { id: "r", name: "None", type: "ALLOW" },
};

describe("a policy", () => {
  test("that was inactive is deactivated before it gets its subjects back", () => {
    const now = { ...policy, active: true, allUsers: false };
    expect(restorationOf(event("policy", policy), now)).toMatchObject({
      changes: [
        { method: "PATCH", path: `/tenants/policies/${id}/deactivate` },
        { method: "PATCH", path: `/tenants/policies/${id}`, body: { allUsers: true } },
      ],
    });
  });

  test("that was inactive and was deleted is created without subjects", () => {
    const restoration = restorationOf(event("policy", policy), undefined);
    expect(restoration).toMatchObject({
      kind: "create",
      change: { method: "POST", path: "/tenants/policies", body: { allUsers: false, resources: [], type: "PRIVATE" } },
    });
    expect(restoration.kind === "create" && restoration.afterwards?.changes("new")).toMatchObject([
      { path: "/tenants/policies/new/deactivate" },
      { path: "/tenants/policies/new", body: { allUsers: true, resources: ["w"] } },
    ]);
  });

  test("that was active and was deleted is created with its previous values", () => {
    expect(restorationOf(event("policy", { ...policy, active: true }), undefined)).toMatchObject({
      change: { body: { allUsers: true, resources: ["w"], rule: "r" } },
      afterwards: undefined,
    });
  });
});

test.each([
  ["a key", event("api-key", { id, createdAt: at })],
  ["a created record", event("group", undefined)],
  ["part of an applied configuration", event("group", group, "applyConfiguration")],
  ["a removed reference", event("policy", { id, name: "Wiki for all", group: { id: "g", name: "Gone" } })],
  ["the previous secret of a webhook", event("webhook", { id, createdAt: at }, "rotateWebhookSecret")],
])("%s cannot be restored", (_what, impossible) => {
  expect(whyImpossible(impossible)).toMatch(/\.$/);
  expect(restorationOf(impossible, undefined).kind).toBe("impossible");
});

test("the order of policies is restored even if policies were created or deleted since", () => {
  const current = ["c", "new", "a", "b"].map((each, order) => ({ id: each, order }));
  expect(
    orderBefore(
      current,
      new Map([
        ["a", 0],
        ["b", 1],
        ["c", 2],
        ["deleted", 3],
      ]),
    ),
  ).toEqual(["a", "new", "b", "c"]);
});

describe("changes that refer to deleted records", () => {
  const refusal = (pointer: string, code = "unknown_reference") =>
    new GatehouseError({
      type: "",
      title: "",
      status: 422,
      detail: "",
      code,
      instance: "",
      requestId: "",
      errors: [{ pointer, message: "" }],
    } as ConstructorParameters<typeof GatehouseError>[0]); // a problem as the API returns it
  const changes = [
    { method: "PATCH", path: "/tenants/policies/1", body: { groups: ["gone", "kept"], name: "x" } },
  ] as const;

  test.each(["/changes/0/body/groups/0", "/groups/0"])("lose the reference at %s", (pointer) => {
    expect(withoutMissing(changes, refusal(pointer))).toMatchObject([{ body: { groups: ["kept"], name: "x" } }]);
  });

  test.each([refusal("/changes/0/body/rule"), refusal("/groups/0", "name_taken"), new Error("no answer")])(
    "keep their references after another error",
    (error) => {
      expect(withoutMissing(changes, error)).toBeUndefined();
    },
  );
});
