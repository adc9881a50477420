import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, click, fill, openConsole, reviewAndSend, waitForDialogToClose } from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("a user is saved as one change set, with the version that was edited", async () => {
  const id = newId();
  const stored = sample("User", { id, email: "ann@example.com", firstName: "Ann", maxDevices: 2, attributes: {} });
  mockApi.answer("get", "/tenants/users/{id}", stored);
  mockApi.answer("get", "/tenants/users/{id}/roles", [{ ...sample("Role"), id: newId(), type: "OWNER" }]);
  const user = openConsole(`/users/${id}`);
  await click(user, t("common.edit"));
  await fill(user, t("users.fields.firstName"), "Anna");
  await fill(user, t("users.fields.attributes"), "team = a");
  await reviewAndSend(user, t("common.save"));
  await waitForDialogToClose();
  const at = `/tenants/users/${id}`;
  expect(mockApi.bodies("applyChanges")).toMatchObject([
    {
      changes: [
        { method: "PUT", path: at, body: { firstName: "Anna" }, ifMatch: etag },
        { method: "PATCH", path: at, body: { attributes: { team: "a" } } },
      ],
    },
  ]);
  expect(mockApi.received("updateUserProfile")).toEqual([]);
});

test("a role and a group of a user are saved as one change set", async () => {
  const id = newId();
  const role = { ...sample("Role"), id: newId(), name: "Support", type: "SUPPORT" as const };
  const group = { ...sample("Group"), id: newId(), name: "Engineers" };
  mockApi.answer(
    "get",
    "/tenants/users/{id}",
    sample("User", { id, email: "ann@example.com", attributes: {}, groups: [] }),
  );
  mockApi.answer("get", "/tenants/users/{id}/roles", []);
  mockApi.answer("get", "/tenants/roles", [role]);
  mockApi.answer("get", "/tenants/groups", pageOf([group]));
  const user = openConsole(`/users/${id}`);
  await click(user, t("common.edit"));
  await choose(user, t("users.fields.groups"), "Engineers");
  await choose(user, t("users.fields.roles"), "Support");
  await reviewAndSend(user, t("common.save"));
  await waitForDialogToClose();
  const at = `/tenants/users/${id}`;
  expect(mockApi.bodies("applyChanges")).toEqual([
    {
      changes: [
        { method: "PATCH", path: `${at}/groups`, body: { addedGroups: [group.id], removedGroups: [] }, ifMatch: etag },
        { method: "PATCH", path: `${at}/roles`, body: { addedRoles: [role.id], removedRoles: [] } },
      ],
    },
  ]);
  expect(mockApi.writes()).toEqual(["POST /tenants/changes"]);
});
