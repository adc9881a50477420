import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { chooseAction, click, findDialog, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("deactivating a person lists the keys that the person created, and offers to revoke them", async () => {
  const id = newId();
  const key = sample("ApiKey", { id: newId(), name: "Nightly export" });
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", status: "active" }));
  mockApi.answer("get", "/tenants/users/{id}/api-keys", [key]);
  const user = openConsole(`/users/${id}`);
  const label = t("users.apiKeys.deactivateAndRevoke", { count: 1 });
  await screen.findByRole("link", { name: "Nightly export" });
  await chooseAction(user, t("common.more"), label);
  await findDialog(t("users.deactivate.title", { name: "ann@example.com" }));
  expect(mockApi.writes()).toEqual([]);
  await click(user, label);
  await waitForDialogToClose();
  const at = `/tenants/users/${id}`;
  expect(mockApi.bodies("applyChanges")).toEqual([
    {
      changes: [
        { method: "PATCH", path: `${at}/deactivate`, ifMatch: etag },
        { method: "DELETE", path: `${at}/api-keys` },
      ],
    },
  ]);
});
