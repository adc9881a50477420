import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, fill, openConsole, reviewAndSend, waitForDialogToClose } from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("a user is saved as one change set, with the version that was edited", async () => {
  const id = newId();
  const stored = sample("User", { id, email: "ann@example.com", firstName: "Ann", maxDevices: 2, attributes: {} });
  mockApi.answer("get", "/tenants/users/{id}", stored);
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
