import type { Event } from "@gatehouse/contract/records/event";
import { describe, expect, test } from "vitest";
import { neededState, planRevert } from "./plan-revert.ts";
import type { CurrentState, RevertedEvent } from "./revert-plan.ts";

const createdAt = "2026-01-01T00:00:00.000Z";

let position = 0;

function eventOf(operation: string, target: Event["target"], states: Pick<Event, "before" | "after">): Event {
  position += 1;
  const actor = { type: "api-key", name: "Test" } as const;
  return {
    id: `event-${position}`,
    position,
    createdAt,
    generation: 1,
    actor,
    operation,
    target,
    requestId: "",
    ...states,
  };
}

interface World {
  readonly records?: Readonly<Record<string, object>>;
  readonly missing?: readonly string[];
  readonly policyOrder?: CurrentState["policyOrder"];
  readonly accessTests?: CurrentState["accessTests"];
}

function plan(event: Event, world: World = {}, rest: Partial<Omit<RevertedEvent, "event">> = {}) {
  const { records = {}, missing = [], policyOrder = [], accessTests = [] } = world;
  return planRevert(
    { event, generation: [event], later: [], laterIsComplete: true, ...rest },
    {
      record: (type, id) => records[`${type} ${id}`] as Record<string, unknown> | undefined,
      exists: (_noun, id) => !missing.includes(id),
      policyOrder,
      accessTests,
    },
  );
}

const refs = (...ids: string[]) => ids.map((id) => ({ id, name: id }));
const codes = ({ cannot }: ReturnType<typeof plan>) => cannot.map(({ code }) => code);

describe("an update", () => {
  const group = { type: "group", id: "g", name: "Staff" };
  const before = { id: "g", createdAt, name: "Staff", description: "Old", maxDevices: 5, roles: [], idpMapping: [] };

  test("restores only the fields that the event changed", () => {
    const event = eventOf("updateGroup", group, { before, after: { ...before, description: "New" } });
    const now = { ...before, description: "New", maxDevices: 9 };
    expect(plan(event, { records: { "group g": now } })).toEqual({
      changes: [{ method: "PUT", path: "/tenants/groups/g", body: { description: "Old" } }],
      cannot: [],
      undoes: [],
      recreated: undefined,
    });
  });

  test("names later events that changed the same fields", () => {
    const event = eventOf("updateGroup", group, { before, after: { ...before, description: "New" } });
    const other = eventOf("updateGroup", group, { before, after: { ...before, name: "Team" } });
    const same = eventOf("updateGroup", group, { before, after: { ...before, description: "Newer" } });
    const world = { records: { "group g": { ...before, description: "Newer" } } };
    const { undoes } = plan(event, world, { later: [other, same] });
    expect(undoes).toMatchObject([{ id: same.id, fields: ["description"] }]);
  });

  test("changes nothing if the record has the previous values", () => {
    const event = eventOf("updateGroup", group, { before, after: { ...before, description: "New" } });
    expect(plan(event, { records: { "group g": before } })).toMatchObject({ changes: [], cannot: [] });
  });

  test("refers to the deletion if the record was deleted since", () => {
    const event = eventOf("updateGroup", group, { before, after: { ...before, description: "New" } });
    const deletion = eventOf("deleteGroup", group, { before });
    expect(plan(event, {}, { later: [deletion] }).cannot).toMatchObject([
      { code: "record_deleted", event: deletion.id },
    ]);
  });

  test("leaves out references to records that do not exist any more, and reports them", () => {
    const policy = { id: "p", createdAt, type: "PRIVATE", action: true, active: true, groups: refs("a", "b") };
    const target = { type: "policy", id: "p" };
    const event = eventOf("updatePolicy", target, { before: policy, after: { ...policy, groups: [] } });
    const result = plan(event, { records: { "policy p": { ...policy, groups: refs("c") } }, missing: ["b"] });
    expect(result.changes).toEqual([{ method: "PATCH", path: "/tenants/policies/p", body: { groups: ["a", "c"] } }]);
    expect(result.cannot).toMatchObject([
      { code: "missing_record", field: "groups", record: { type: "group", id: "b" } },
    ]);
  });

  test("joins groups before it leaves others", () => {
    const user = { id: "u", createdAt, status: "active", groups: refs("a") };
    const event = eventOf("x", { type: "user", id: "u" }, { before: user, after: { ...user, groups: refs("b") } });
    expect(plan(event, { records: { "user u": { ...user, groups: refs("b") } } }).changes).toEqual([
      { method: "PATCH", path: "/tenants/users/u/groups", body: { addedGroups: ["a"], removedGroups: ["b"] } },
    ]);
  });

  test("restores direct roles, but not inherited ones", () => {
    const roles = [
      { id: "r", type: "ADMIN" },
      { id: "o", type: "OWNER" },
    ];
    const user = { id: "u", createdAt, status: "active", groups: refs("a"), roles: [] };
    const states = { before: { ...user, roles }, after: user };
    const world = { records: { "user u": user } };
    expect(plan(eventOf("updateUserRoles", { type: "user", id: "u" }, states), world).changes).toEqual([
      { method: "PATCH", path: "/tenants/users/u/roles", body: { addedRoles: ["r"] } },
    ]);
    expect(codes(plan(eventOf("updateUserProfile", { type: "user", id: "u" }, states), world))).toEqual([
      "no_setting_changed",
    ]);
  });

  test("of a role that a group also gives says that the entry does not show it", () => {
    const user = { id: "u", createdAt, status: "active", roles: [{ id: "r", type: "ADMIN" }] };
    const event = eventOf("updateUserRoles", { type: "user", id: "u" }, { before: user, after: user });
    const { cannot } = plan(event, { records: { "user u": user } });
    expect(cannot).toMatchObject([{ code: "unsupported", field: "roles" }]);
  });

  test("of the first posture of a device says that the posture becomes empty", () => {
    const device = { id: "d", createdAt, active: true };
    const reported = { ...device, posture: { diskEncrypted: true } };
    const event = eventOf("replaceDevicePosture", { type: "device", id: "d" }, { before: device, after: reported });
    const { changes, cannot } = plan(event, { records: { "device d": reported } });
    expect(changes).toEqual([{ method: "PUT", path: "/tenants/devices/d/posture", body: {} }]);
    expect(cannot).toMatchObject([{ code: "unsupported", field: "posture" }]);
  });

  test("gives the mark of the SAML default group back", () => {
    const marked = { ...before, isSamlDefaultGroup: true };
    const unmarked = { ...before, isSamlDefaultGroup: false };
    const lost = eventOf("updateGroup", { type: "group", id: "f" }, { before: marked, after: unmarked });
    const event = eventOf("updateGroup", group, { before: unmarked, after: marked });
    const world = { records: { "group g": marked } };
    const generation = [lost, event];
    expect(plan(event, world, { generation }).changes).toEqual([
      { method: "PUT", path: "/tenants/groups/f", body: { isSamlDefaultGroup: true } },
    ]);
    expect(codes(plan(event, { ...world, missing: ["f"] }, { generation }))).toEqual(["saml_default_group"]);
  });

  test("gives the mark of the SAML default group back to the group that lost it last in a change set", () => {
    const marked = { ...before, isSamlDefaultGroup: true };
    const unmarked = { ...before, isSamlDefaultGroup: false };
    const move = (from: string, to: string) => [
      eventOf("updateGroup", { type: "group", id: from }, { before: marked, after: unmarked }),
      eventOf("updateGroup", { type: "group", id: to }, { before: unmarked, after: marked }),
    ];
    const [first, second] = [move("a", "b"), move("b", "g")];
    const generation = [...first, ...second, ...move("g", "a"), ...move("a", "g")];
    const event = second[1] ?? expect.unreachable();
    expect(plan(event, { records: { "group g": marked } }, { generation }).changes).toEqual([
      { method: "PUT", path: "/tenants/groups/b", body: { isSamlDefaultGroup: true } },
    ]);
    expect(neededState({ event, generation }).existing).toContainEqual({ noun: "group", id: "b" });
  });

  test("adds, changes and removes addresses of a resource one by one", () => {
    const address = (id: string, text: string) => ({ id, address: text, protocols: refs("web") });
    const resource = { id: "r", createdAt, name: "Wiki", gateways: [], loadBalancingMode: "MANUAL" };
    const old = { ...resource, addresses: [address("1", "192.0.2.1"), address("2", "192.0.2.2")] };
    const fresh = { ...resource, addresses: [address("1", "192.0.2.1"), address("3", "192.0.2.3")] };
    const event = eventOf("x", { type: "resource", id: "r" }, { before: old, after: fresh });
    expect(plan(event, { records: { "resource r": fresh } }).changes).toEqual([
      {
        method: "POST",
        path: "/tenants/resources/r/addresses",
        body: { address: "192.0.2.2", protocols: ["web"], answersWithin: null },
      },
      { method: "DELETE", path: "/tenants/resources/r/addresses/3" },
    ]);
  });
});

describe("a creation", () => {
  test("is reverted by deleting the record, which undoes all later changes", () => {
    const target = { type: "policy", id: "p" };
    const event = eventOf("createPolicy", target, { after: { id: "p" } });
    const later = [eventOf("deactivatePolicy", target, { before: {}, after: {} })];
    const result = plan(event, { records: { "policy p": {} } }, { later });
    expect(result.changes).toEqual([{ method: "DELETE", path: "/tenants/policies/p" }]);
    expect(result.undoes).toMatchObject([{ id: later[0]?.id, fields: [] }]);
  });
});

describe("a deletion", () => {
  const before = {
    id: "g",
    createdAt,
    name: "Staff",
    description: "",
    maxDevices: 5,
    roles: refs("r"),
    idpMapping: [],
  };
  const target = { type: "group", id: "g", name: "Staff" };

  test("creates the record again, and repairs references to it", () => {
    const reference = { group: { id: "g", name: "Staff" } };
    const member = eventOf(
      "deleteGroup",
      { type: "user", id: "u" },
      { before: { id: "u", ...reference }, after: { id: "u" } },
    );
    const policy = eventOf(
      "deleteGroup",
      { type: "policy", id: "p" },
      { before: { id: "p", ...reference }, after: { id: "p" } },
    );
    const gone = eventOf(
      "deleteGroup",
      { type: "policy", id: "q" },
      { before: { id: "q", ...reference }, after: { id: "q" } },
    );
    const event = eventOf("deleteGroup", target, { before });
    const accessTest = { id: "t", subject: { type: "group", id: "g" }, resource: { type: "address", id: "192.0.2.1" } };
    const result = plan(
      event,
      { records: { "user u": {}, "policy p": { groups: refs("a") } }, accessTests: [accessTest] },
      { generation: [member, policy, gone, event] },
    );
    expect(result.changes).toEqual([
      {
        method: "POST",
        path: "/tenants/groups",
        as: "reverted",
        body: { name: "Staff", description: "", maxDevices: 5, roles: ["r"], idpMapping: [] },
      },
      { method: "POST", path: "/tenants/users/u/groups", body: { groupId: "@reverted" } },
      { method: "PATCH", path: "/tenants/policies/p", body: { groups: ["a", "@reverted"] } },
      { method: "PUT", path: "/tenants/access-tests/t", body: { subject: { type: "group", id: "@reverted" } } },
    ]);
    expect(result.cannot).toMatchObject([{ code: "missing_record", record: { type: "policy", id: "q" } }]);
    expect(result.recreated).toEqual({ type: "group", as: "reverted", formerId: "g" });
    // The entries about members and policies are reverted with the deletion, not by themselves.
    expect(plan(member, {}, { generation: [member, event] }).cannot).toMatchObject([
      { code: "part_of_deletion", event: event.id },
    ]);
  });

  test("returns a policy to its position and its inactive state", () => {
    const policy = {
      id: "p",
      createdAt,
      name: "Staff",
      type: "PRIVATE",
      action: true,
      active: false,
      order: 2,
      users: refs("u", "gone"),
      rule: { id: "rule" },
    };
    const event = eventOf("deletePolicy", { type: "policy", id: "p" }, { before: policy });
    const policyOrder = [
      { id: "1", order: 1 },
      { id: "2", order: 2 },
    ];
    const result = plan(event, { policyOrder, missing: ["gone"] });
    expect(result.changes.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /tenants/policies",
      "PATCH /tenants/policies/@reverted/deactivate",
      "POST /tenants/policies/reorder",
    ]);
    expect(result.changes[0]?.body).toMatchObject({ users: ["u"], rule: "rule", type: "PRIVATE" });
    expect(result.changes[2]?.body).toEqual({ type: "PRIVATE", policies: ["1", "@reverted", "2"] });
    expect(codes(result)).toEqual(["missing_record"]);
  });

  test("restores what can be restored of a user, and reports the rest", () => {
    const user = {
      id: "u",
      createdAt,
      email: "ann@example.com",
      status: "active",
      firstName: "Ann",
      maxDevices: 3,
      attributes: { team: "a" },
      groups: refs("g"),
      roles: [
        { id: "inherited", type: "BASIC" },
        { id: "direct", type: "ADMIN" },
      ],
    };
    const event = eventOf("deleteUser", { type: "user", id: "u" }, { before: user });
    const device = eventOf("deleteUser", { type: "device", id: "d" }, { before: { user: { id: "u" } }, after: {} });
    const world = { records: { "group g": { roles: [{ id: "inherited", type: "BASIC" }] } } };
    const result = plan(event, world, { generation: [device, event] });
    expect(result.changes).toEqual([
      { method: "POST", path: "/tenants/users", as: "reverted", body: { email: "ann@example.com", groups: ["g"] } },
      { method: "PUT", path: "/tenants/users/@reverted", body: { firstName: "Ann" } },
      { method: "PATCH", path: "/tenants/users/@reverted", body: { maxDevices: 3, attributes: { team: "a" } } },
      { method: "PATCH", path: "/tenants/users/@reverted/roles", body: { addedRoles: ["direct"] } },
    ]);
    expect(codes(result)).toEqual(["user_status", "devices"]);
  });

  test.each([
    ["entries of updates", { before: { roles: [{ id: "i", type: "BASIC" }] }, after: { roles: [] } }, ["direct"]],
    ["entries of applied configurations", { before: { roles: ["BASIC"] }, after: {} }, ["direct"]],
    ["entries of deletions", { before: { roles: [{ id: "i", type: "BASIC" }] } }, ["direct"]],
    ["roles that a group got later", { before: {}, after: { roles: ["ADMIN", "BASIC"] } }, ["i", "direct"]],
  ])("of a user restores only roles that no group gave then: %s", (_name, states, added) => {
    const roles = [
      { id: "i", type: "BASIC" },
      { id: "direct", type: "ADMIN" },
    ];
    const user = { id: "u", createdAt, email: "ann@example.com", groups: refs("g"), roles };
    const event = eventOf("deleteUser", { type: "user", id: "u" }, { before: user });
    const unrelated = eventOf(
      "updateGroup",
      { type: "group", id: "other" },
      { before: { roles }, after: { roles: [] } },
    );
    const later = [unrelated, eventOf("updateGroup", { type: "group", id: "g" }, states)];
    const { changes } = plan(event, { records: { "group g": { roles: [] } } }, { later });
    expect(changes.at(-1)?.body).toEqual({ addedRoles: added });
    expect(neededState({ event, generation: [event] }).laterOn).toContain("g");
  });

  test("of a user restores no role if the roles of a former group are not known", () => {
    const roles = [{ id: "r", type: "ADMIN" }];
    const user = { id: "u", createdAt, email: "ann@example.com", groups: refs("g"), roles };
    const event = eventOf("deleteUser", { type: "user", id: "u" }, { before: user });
    const result = plan(event, { missing: ["g"] });
    expect(result.changes.filter(({ body }) => body !== undefined && "addedRoles" in (body as object))).toEqual([]);
    expect(result.cannot).toContainEqual(expect.objectContaining({ code: "unsupported", field: "roles" }));
  });

  test("performs a limited number of changes, and says so", () => {
    const members = Array.from({ length: 150 }, (_, index) =>
      eventOf("deleteGroup", { type: "user", id: `u${index}` }, { before: { id: "u", group: { id: "g" } }, after: {} }),
    );
    const event = eventOf("deleteGroup", target, { before });
    const records = Object.fromEntries(members.map(({ target: { id } }) => [`user ${id}`, {}]));
    const result = plan(event, { records }, { generation: [...members, event] });
    expect(result.changes).toHaveLength(100);
    expect(codes(result)).toEqual(["too_many_changes"]);
  });
});

test("a reordering returns all moved policies, and leaves new ones at their positions", () => {
  const move = (id: string, from: number, order: number) =>
    eventOf(
      "reorderPolicies",
      { type: "policy", id },
      { before: { type: "SAAS", order: from }, after: { type: "SAAS", order } },
    );
  const generation = [move("a", 1, 2), move("b", 2, 1)];
  const policyOrder = ["b", "a", "new"].map((id, index) => ({ id, order: index + 1 }));
  const [event = generation[0]] = generation;
  if (event === undefined) throw new Error("the table is empty");
  expect(neededState({ event, generation })).toMatchObject({ orderOf: "SAAS", laterOn: ["a", "a", "b"] });
  expect(plan(event, { policyOrder }, { generation }).changes).toEqual([
    { method: "POST", path: "/tenants/policies/reorder", body: { type: "SAAS", policies: ["a", "b", "new"] } },
  ]);
});

test.each([
  ["createApiKey", "api-key", "api_key"],
  ["applyConfiguration", "policy", "configuration"],
  ["transferOwnership", "user", "ownership"],
  ["rotateGatewayToken", "gateway", "secret"],
  ["rotateDeviceToken", "device", "secret"],
  ["rotateWebhookSecret", "webhook", "secret"],
  ["inviteUser", "user", "invitation"],
  ["refuseGatewayKey", "gateway", "observation"],
  ["reportGatewayState", "gateway", "observation"],
  ["createTenant", "policy", "built_in"],
  ["testWebhook", "webhook-delivery", "delivery"],
])("%s of a record of type %s cannot be reverted: %s", (operation, type, code) => {
  const event = eventOf(operation, { type, id: "x" }, { before: { createdAt }, after: { createdAt } });
  expect(plan(event, { records: { [`${type} x`]: {} } })).toMatchObject({ changes: [], cannot: [{ code }] });
});

test("a deleted webhook cannot be reverted, because its secret is gone", () => {
  expect(codes(plan(eventOf("deleteWebhook", { type: "webhook", id: "w" }, { before: { createdAt } })))).toEqual([
    "secret",
  ]);
});
