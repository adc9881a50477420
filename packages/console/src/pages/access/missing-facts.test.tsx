import { screen, waitFor, within } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findDialog, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const [userId, resourceId, ruleId] = [newId(), newId(), newId()];
const group = { id: newId(), name: "Engineering" };
const engineers = sample("Policy", { id: newId(), name: "Engineers build", type: "PRIVATE" });
const blocker = sample("Policy", { id: newId(), name: "Lockdown", type: "PRIVATE" });
const named = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name });
const hour = 'now.getHours("UTC") >= 24';

interface Denial {
  readonly reason?: "user_inactive";
  readonly changesAt?: string;
  readonly device?: string;
}

function deny(
  missing: readonly object[],
  conditions: readonly object[] = [],
  { reason, changesAt, device }: Denial = {},
) {
  mockApi.answer(
    "post",
    "/access/v1/evaluation",
    sample("AccessDecision", {
      decision: false,
      context: sample("DecisionContext", {
        reason: reason ?? "no_policy_allows",
        validUntil: "2026-11-22T08:00:00.000Z",
        explanation: sample("AccessExplanation", {
          ...(changesAt === undefined ? {} : { changesAt }),
          policies: [
            sample("ConsideredPolicy", {
              policy: named(engineers),
              action: true,
              outcome: reason === undefined ? "rule_not_met" : "not_asked",
              sourceMatches: [],
              rule: { id: ruleId, name: "Office hours", conditions },
            }),
          ],
          nearestMiss: { policy: named(engineers), missing },
        }),
      }),
    }),
  );
  const on = device === undefined ? "" : `&device=${device}`;
  return openConsole(`/access?user=${userId}&resource=${resourceId}${on}`);
}

describe("a missing fact of a denial", () => {
  test("adds the user to the group, after a preview", async () => {
    mockApi.answer("get", "/tenants/users/{id}", sample("User", { id: userId, email: "ann@example.com" }));
    const user = deny([{ kind: "source", groups: [group] }]);
    const label = t("access.remedies.addToGroup", { group: "Engineering" });
    await click(user, label);
    await findDialog(t("access.remedies.addToGroupTitle", { user: "ann@example.com", group: "Engineering" }));
    expect(mockApi.writes()).toEqual([]);
    await click(user, label);
    await waitFor(() => expect(mockApi.bodies("addUserToGroup")).toEqual([{ groupId: group.id }]));
  });

  test("leaves the focus at the answer when the remedy has made its own button unnecessary", async () => {
    const user = deny([{ kind: "source", groups: [group] }]);
    const label = t("access.remedies.addToGroup", { group: "Engineering" });
    await click(user, label);
    await findDialog();
    const read = mockApi.received("evaluateAccess").length;
    mockApi.answer(
      "post",
      "/access/v1/evaluation",
      sample("AccessDecision", {
        decision: true,
        context: sample("DecisionContext", { reason: "allowed_by_policy", validUntil: "2026-11-22T08:00:00.000Z" }),
      }),
    );
    await click(user, label);
    await waitFor(() => expect(mockApi.received("evaluateAccess").length).toBeGreaterThan(read));
    const title = await screen.findByRole("heading", { name: t("access.decision.title") });
    await screen.findByText(t("access.decision.allowed"));
    await waitFor(() => expect(document.activeElement).toBe(title));
  });

  test("names the device’s own remedy before the change of the condition", async () => {
    const id = newId();
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Laptop", agent: true }));
    const values = [{ name: "device.posture.diskEncrypted", value: "false" }];
    const condition = { depth: 0, text: "device.posture.diskEncrypted == true", met: false, values };
    deny([{ kind: "condition", condition }], [condition], { device: id });
    const remedy = await screen.findByText(t("access.remedies.onDevice.diskEncrypted", { device: "“Laptop”" }));
    const edit = await screen.findByRole("link", { name: t("access.remedies.editRule") });
    expect(remedy.compareDocumentPosition(edit) & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
  });

  test.each([
    ["osUpToDate", "device.posture.osUpToDate == true", "false"],
    ["other", 'device.posture.osVersion >= "14.5"', '"14.1"'],
  ] as const)("names what to do about the property %s", async (name, text, value) => {
    const id = newId();
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Laptop", agent: true }));
    const values = [{ name: text.split(" ")[0] ?? "", value }];
    const condition = { depth: 0, text, met: false, values };
    deny([{ kind: "condition", condition }], [condition], { device: id });
    await screen.findByText(t(`access.remedies.onDevice.${name}`, { device: "“Laptop”" }));
  });

  test("asks for no change of a device that reports no such property", async () => {
    const id = newId();
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Laptop", agent: false }));
    const values = [{ name: "device.posture.diskEncrypted" }];
    const condition = { depth: 0, text: "device.posture.diskEncrypted == true", values };
    deny([{ kind: "condition", condition }], [condition], { device: id });
    await screen.findByText(t("access.decision.noPosture", { device: "Laptop" }));
    expect(screen.queryByText(/^Turn on disk encryption/)).toBeNull();
  });

  test("moves the policy above the one that denies", async () => {
    mockApi.answer("get", "/tenants/policies/{id}", engineers);
    mockApi.answer("get", "/tenants/policies", pageOf([blocker, engineers]));
    const user = deny([{ kind: "denied-by", policy: named(blocker) }]);
    const label = t("access.remedies.moveAbove", { name: "Lockdown" });
    await click(user, label);
    await click(user, label);
    await waitFor(() =>
      expect(mockApi.bodies("reorderPolicies")).toEqual([{ type: "PRIVATE", policies: [engineers.id, blocker.id] }]),
    );
  });

  test("leads to the form of the condition", async () => {
    deny([{ kind: "condition", condition: { depth: 0, text: hour, met: false, values: [] } }]);
    const link = await screen.findByRole("link", { name: t("access.remedies.editRule") });
    expect(link.getAttribute("href")).toBe(`/console/admission-rules/${ruleId}?edit=1`);
  });

  test("offers nothing to a key that cannot write", async () => {
    mockApi.signIn(["decisions:read", "policies:read", "users:read"]);
    deny([{ kind: "source", groups: [group] }]);
    const missing = within(await screen.findByRole("region", { name: t("access.decision.missing") }));
    expect(missing.queryByRole("button")).toBeNull();
  });
});

test("a denial for a deactivated user requires an active user, and blames no earlier policy", async () => {
  deny([{ kind: "subject", reason: "user_inactive" }], [], { reason: "user_inactive" });
  const missing = within(await screen.findByRole("region", { name: t("access.decision.missing") }));
  missing.getByText("Requires: the user is active");
  screen.getByText(t("access.outcomes.notAsked", { reason: t("access.reasons.user_inactive") }));
  expect(screen.queryByText(t("access.outcomes.not_asked"))).toBeNull();
});

test("a denial says when access begins, in a rule whose hours the console does not read", async () => {
  const zone = "Europe/Berlin";
  const minutes = `now.getHours("${zone}") * 60 + now.getMinutes("${zone}") >= 570`;
  const condition = { depth: 0, text: minutes, met: false, values: [] };
  deny([{ kind: "condition", condition }], [condition], { changesAt: "2026-11-26T08:30:00.000Z" });
  const missing = within(await screen.findByRole("region", { name: t("access.decision.missing") }));
  // The zone is that of the rule, as for the opening of a rule whose hours the console reads.
  missing.getByText(/^Opens Thursday 09:30 \(Europe\/Berlin\)\./);
});

test("a denial says that a device with a WireGuard app reports no posture", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Phone", agent: false }));
  const condition = { depth: 0, text: "device.posture.diskEncrypted == true", values: [] };
  deny([{ kind: "condition", condition }], [condition], { device: id });
  await screen.findByText(t("access.decision.noPosture", { device: "Phone" }));
});

test("a denial also names gateways that are not online", async () => {
  const gateway = sample("Gateway", { id: newId(), name: "gateway-1", status: "OFFLINE" });
  mockApi.answer(
    "get",
    "/tenants/resources/{id}",
    sample("Resource", { id: resourceId, type: "PRIVATE", gateways: [gateway] }),
  );
  deny([{ kind: "source", groups: [group] }]);
  const link = await screen.findByRole("link", { name: "gateway-1" });
  expect(link.getAttribute("href")).toBe(`/console/gateways/${gateway.id}`);
  screen.getByText(t("access.decision.gatewaysOffline"));
});

test("a denial shows no time limit of its evaluation", async () => {
  deny([{ kind: "source", groups: [group] }]);
  await screen.findByRole("region", { name: t("access.decision.missing") });
  expect(screen.queryByText(t("access.decision.fields.allowedUntil"))).toBeNull();
});

test("the last-seen device of a user is chosen with the user", async () => {
  const device = newId();
  mockApi.answer("get", "/tenants/users", pageOf([sample("User", { id: userId, email: "ann@example.com" })]));
  mockApi.answer("get", "/tenants/devices", pageOf([sample("Device", { id: device, name: "Laptop" })]));
  const user = openConsole(`/access?resource=${resourceId}`);
  await user.click(await screen.findByRole("combobox", { name: t("access.query.user") }));
  await user.click(await screen.findByRole("option", { name: "ann@example.com" }));
  await waitFor(() => expect(window.location.search).toContain(`device=${device}`));
});
