import { waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  choose,
  click,
  findDialog,
  openConsole,
  reviewAndSend,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const group = sample("Group", { id: newId(), name: "Engineering", users: [] });
const ann = sample("User", { id: newId(), email: "ann@example.com" });

test("adding members requires a user, and adds the group to each user", async () => {
  mockApi.answer("get", "/tenants/groups/{id}", group);
  mockApi.answer("get", "/tenants/users", pageOf([ann]));
  const user = openConsole(`/groups/${group.id}`);
  await click(user, t("groups.members.add"));
  const dialog = await findDialog(t("groups.members.addTitle", { name: "Engineering" }));
  await click(user, t("common.review"));
  await dialog.findByText(t("groups.members.select"));
  expect(mockApi.writes()).toEqual([]);
  await choose(user, t("users.title"), "ann@example.com");
  await waitFor(() => expect(dialog.queryByText(t("groups.members.select"))).toBeNull());
  await reviewAndSend(user, t("groups.members.add"));
  await waitForDialogToClose();
  expect(mockApi.received("updateUserGroups")).toMatchObject([
    { path: `/tenants/users/${ann.id}/groups`, body: { addedGroups: [group.id], removedGroups: [] } },
  ]);
});

test("a member is removed after a review", async () => {
  mockApi.answer("get", "/tenants/groups/{id}", {
    ...group,
    users: [{ id: ann.id, email: "ann@example.com", createdAt: ann.createdAt, updatedAt: ann.updatedAt }],
  });
  const user = openConsole(`/groups/${group.id}`);
  await click(user, t("groups.members.removeNamed", { name: "ann@example.com" }));
  await findDialog(t("groups.members.removeTitle", { name: "ann@example.com", group: "Engineering" }));
  await click(user, t("common.remove"));
  await waitForDialogToClose();
  expect(mockApi.received("updateUserGroups")).toMatchObject([
    { path: `/tenants/users/${ann.id}/groups`, body: { addedGroups: [], removedGroups: [group.id] } },
  ]);
});

test("adding a pending user says that the invitation is not accepted yet", async () => {
  mockApi.answer("get", "/tenants/groups/{id}", group);
  mockApi.answer("get", "/tenants/users", pageOf([{ ...ann, status: "pending" }]));
  const user = openConsole(`/groups/${group.id}`);
  await click(user, t("groups.members.add"));
  const dialog = await findDialog(t("groups.members.addTitle", { name: "Engineering" }));
  await choose(user, t("users.title"), "ann@example.com");
  await click(user, t("common.review"));
  await dialog.findByText(t("records.effect.empty.pending", { count: 1, total: 1 }));
});
