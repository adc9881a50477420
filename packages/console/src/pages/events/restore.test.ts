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

describe("a record that is there still", () => {
  test("is sent only what differs", () => {
    const restoration = restorationOf(event("group", group), { ...group, description: undefined, maxDevices: 3 });
    expect(restoration).toMatchObject({
      kind: "update",
      changes: [{ method: "PUT", path: `/tenants/groups/${id}`, body: { description: "As it was", maxDevices: 5 } }],
    });
  });

  test("loses what it did not have", () => {
    const { description: _, ...bare } = group;
    expect(restorationOf(event("group", bare), group)).toMatchObject({ changes: [{ body: { description: "" } }] });
  });

  test("stays as it is where nothing that can be put back differs", () => {
    expect(restorationOf(event("group", group), { ...group, updatedAt: "2026-03-02T09:00:00.000Z" })).toEqual({
      kind: "same",
    });
  });

  test("gets memberships and activation of a user by their own requests, those to come first", () => {
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
  test("that was inactive is switched off before it is about anybody again", () => {
    const now = { ...policy, active: true, allUsers: false };
    expect(restorationOf(event("policy", policy), now)).toMatchObject({
      changes: [
        { method: "PATCH", path: `/tenants/policies/${id}/deactivate` },
        { method: "PATCH", path: `/tenants/policies/${id}`, body: { allUsers: true } },
      ],
    });
  });

  test("that was inactive and is gone is made anew about nobody", () => {
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

  test("that was active and is gone is made anew as it was", () => {
    expect(restorationOf(event("policy", { ...policy, active: true }), undefined)).toMatchObject({
      change: { body: { allUsers: true, resources: ["w"], rule: "r" } },
      afterwards: undefined,
    });
  });
});

test.each([
  ["a key", event("api-key", { id, createdAt: at })],
  ["a record that was made", event("group", undefined)],
  ["what a configuration brought", event("group", group, "applyConfiguration")],
  ["what only lost a reference", event("policy", { id, name: "Wiki for all", group: { id: "g", name: "Gone" } })],
  ["the former secret of a webhook", event("webhook", { id, createdAt: at }, "rotateWebhookSecret")],
])("%s is said to be impossible to put back", (_what, told) => {
  expect(whyImpossible(told)).toMatch(/\.$/);
  expect(restorationOf(told, undefined).kind).toBe("impossible");
});

test("the order of policies is put back, around those that were made or deleted since", () => {
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

describe("of changes that name what is gone", () => {
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
    } as ConstructorParameters<typeof GatehouseError>[0]); // a problem as the API answers it
  const changes = [
    { method: "PATCH", path: "/tenants/policies/1", body: { groups: ["gone", "kept"], name: "x" } },
  ] as const;

  test.each(["/changes/0/body/groups/0", "/groups/0"])("what %s points to is left out", (pointer) => {
    expect(withoutMissing(changes, refusal(pointer))).toMatchObject([{ body: { groups: ["kept"], name: "x" } }]);
  });

  test.each([refusal("/changes/0/body/rule"), refusal("/groups/0", "name_taken"), new Error("no answer")])(
    "nothing is left out for another reason",
    (error) => {
      expect(withoutMissing(changes, error)).toBeUndefined();
    },
  );
});
