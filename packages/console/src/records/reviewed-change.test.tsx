import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { click, findDialog, openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

const policy = sample("Policy", { id: newId(), name: "Intranet", active: true, isDefault: false });

test.each([
  [37, true],
  [0, false],
])("the button that confirms is red if somebody loses access: %i pairs", async (pairs, isRed) => {
  mockApi.answer("get", "/tenants/policies/{id}", policy);
  const effect = sample("AccessPreview");
  mockApi.answer("post", "/tenants/policies/preview", { ...effect, lost: { ...effect.lost, pairs } });
  const user = openConsole(`/policies/${policy.id}`);
  await click(user, t("policies.deactivate"));
  const dialog = await findDialog(t("policies.deactivateTitle", { name: policy.name }));
  const confirm = await waitFor(() => {
    const found = dialog.getByRole<HTMLButtonElement>("button", { name: t("policies.deactivate") });
    expect(found.disabled).toBe(false);
    return found;
  });
  expect(confirm.style.getPropertyValue("--button-bg").includes("red")).toBe(isRed);
  expect(screen.queryAllByRole("dialog")).toHaveLength(1);
});

test.each([
  ["their own account", "01980000-0000-7000-8000-00000000bbbb", true],
  ["the account of somebody else", newId(), false],
])("warns people who deactivate %s: %s", async (_whose, id, isWarned) => {
  mockApi.signInPerson(permissions);
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", status: "active" }));
  const user = openConsole(`/users/${id}`);
  await click(user, t("users.deactivate.label"));
  const dialog = await findDialog(t("users.deactivate.title", { name: "ann@example.com" }));
  await dialog.findByText(t("users.deactivate.note"));
  expect(dialog.queryByText(t("records.review.ownAccount")) !== null).toBe(isWarned);
});

test("shows the effect at this moment if access depends on conditions", async () => {
  const id = newId();
  const group = { change: "lost", before: "sometimes", after: "never" } as const;
  const counts = { subjectCount: 0, subjects: [], resourceCount: 0, resources: [], internet: true };
  const preview = sample("AccessPreview", { groups: [{ ...group, ...counts }], groupCount: 1 });
  const none = { ...preview.lost, pairs: 0 };
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", status: "active" }));
  mockApi.answer("post", "/tenants/policies/preview", ({ body }) => ({
    ...preview,
    gained: none,
    lost: (body as { context?: object }).context === undefined ? { ...none, pairs: 5 } : none,
  }));
  const user = openConsole(`/users/${id}`);
  await click(user, t("users.deactivate.label"));
  const dialog = await findDialog(t("users.deactivate.title", { name: "ann@example.com" }));
  await dialog.findByText(t("records.effect.planned.now"));
  dialog.getByText(t("records.effect.planned.nowNone"));
});

test("names the access tests that break before anything else", async () => {
  const effect = sample("AccessPreview");
  const subject = { kind: "user", id: newId(), name: "ann@example.com" } as const;
  const group = { change: "gained", before: "never", after: "always", internet: true } as const;
  const counts = { subjectCount: 1, subjects: [subject], resourceCount: 0, resources: [] };
  mockApi.answer("get", "/tenants/policies/{id}", policy);
  mockApi.answer("post", "/tenants/policies/preview", {
    ...effect,
    gained: { ...effect.gained, users: 1, pairs: 1 },
    groups: [{ ...group, ...counts }],
    groupCount: 1,
    brokenTests: [{ id: newId(), name: "Unencrypted never", enforced: true, brokenCount: 1, broken: [] }],
  });
  const user = openConsole(`/policies/${policy.id}`);
  await click(user, t("policies.deactivate"));
  const dialog = await findDialog(t("policies.deactivateTitle", { name: policy.name }));
  const warning = await dialog.findByText(t("records.effect.planned.brokenTests"));
  for (const later of [dialog.getByText(/^1 user gains/), dialog.getByRole("table")]) {
    expect(warning.compareDocumentPosition(later) & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
  }
});
