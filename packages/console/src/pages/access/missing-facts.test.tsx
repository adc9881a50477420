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

function deny(missing: readonly object[], conditions: readonly object[] = []) {
  mockApi.answer(
    "post",
    "/access/v1/evaluation",
    sample("AccessDecision", {
      decision: false,
      context: sample("DecisionContext", {
        reason: "no_policy_allows",
        validUntil: "2026-11-22T08:00:00.000Z",
        explanation: sample("AccessExplanation", {
          policies: [
            sample("ConsideredPolicy", {
              policy: named(engineers),
              action: true,
              outcome: "rule_not_met",
              sourceMatches: [],
              rule: { id: ruleId, name: "Office hours", conditions },
            }),
          ],
          nearestMiss: { policy: named(engineers), missing },
        }),
      }),
    }),
  );
  return openConsole(`/access?user=${userId}&resource=${resourceId}`);
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

test("a denial shows no time limit of its evaluation", async () => {
  deny([{ kind: "source", groups: [group] }]);
  await screen.findByRole("region", { name: t("access.decision.missing") });
  expect(screen.queryByText(t("access.decision.fields.validUntil"))).toBeNull();
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
