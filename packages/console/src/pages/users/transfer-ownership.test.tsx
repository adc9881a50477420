import { permissions } from "@gatehouse/contract/permissions";
import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { chooseAction, click, findDialog, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

const id = newId();
const ann = sample("User", { id, email: "ann@example.com", status: "active" });

test("transfers the ownership after a review", async () => {
  mockApi.answer("get", "/tenants/users/{id}", ann);
  const user = openConsole(`/users/${id}`);
  await chooseAction(user, t("common.more"), t("users.transfer.label"));
  await findDialog(t("users.transfer.title", { name: "ann@example.com" }));
  expect(mockApi.writes()).toEqual([]);
  await click(user, t("users.transfer.label"));
  await waitForDialogToClose();
  expect(mockApi.received("transferOwnership")).toMatchObject([{ ifMatch: etag }]);
});

test.each([
  ["the owner", { ...ann, roles: [sample("Role", { type: "OWNER" })] }, permissions],
  ["a pending user", { ...ann, status: "pending" as const }, permissions],
  ["a key without every permission", ann, permissions.filter((permission) => permission !== "webhooks:write")],
])("is not offered for %s", async (_, record, held) => {
  mockApi.signIn(held);
  mockApi.answer("get", "/tenants/users/{id}", record);
  const user = openConsole(`/users/${id}`);
  await click(user, t("common.more"));
  await screen.findByRole("menuitem", { name: t("common.delete") });
  expect(screen.queryByRole("menuitem", { name: t("users.transfer.label") })).toBeNull();
});
