import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findDialog, findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const id = newId();
const groups = [sample("Group", { id: newId(), maxDevices: 3 }), sample("Group", { id: newId(), maxDevices: 7 })];

function openUser(maxDevices: number | null) {
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", maxDevices }));
  mockApi.answer("get", "/tenants/groups", pageOf(groups));
  return openConsole(`/users/${id}`);
}

async function limitOf(note: string) {
  const about = await findPanel(t("common.about"));
  return (await about.findByText(note)).closest("dd")?.textContent;
}

test("shows the limit of the groups, in the form too", async () => {
  const user = openUser(null);
  await screen.findByText("7");
  expect(await limitOf(t("users.fields.maxDevicesByGroups"))).toMatch(/^7The largest/);
  expect(mockApi.received("listGroups")).toMatchObject([{ query: { "filter[users.id]": id } }]);
  await click(user, t("common.edit"));
  (await findDialog()).getByText(t("users.fields.maxDevicesHelpWithLimit", { limit: 7 }));
});

test("shows the user's own limit, even if that of the groups is larger", async () => {
  openUser(2);
  expect(await limitOf(t("users.fields.maxDevicesOwn"))).toMatch(/^2The user/);
});

test("says where the limit comes from without the permission to read groups", async () => {
  mockApi.signIn(["users:read"]);
  openUser(null);
  expect(await limitOf(t("users.fields.maxDevicesByGroups"))).toBe(t("users.fields.maxDevicesByGroups"));
  expect(mockApi.received("listGroups")).toEqual([]);
});
