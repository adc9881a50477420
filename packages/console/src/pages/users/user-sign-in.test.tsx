import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findDialog, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("resetting passkeys asks first, and names sessions and links, even without a passkey", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", status: "active" }));
  mockApi.answer("get", "/tenants/users/{id}/passkeys", []);
  const user = openConsole(`/users/${id}`);
  await screen.findByText(t("signIn.user.passkeys", { count: 0 }));
  screen.getByText(t("signIn.user.resetHelp"));
  await click(user, t("signIn.user.resetPasskeys"));
  const dialog = await findDialog(t("signIn.user.resetTitle", { email: "ann@example.com" }));
  dialog.getByText(/passkeys.*sessions.*links/);
  expect(mockApi.writes()).toEqual([]);
  await click(user, t("signIn.user.resetPasskeys"));
  await waitForDialogToClose();
  expect(mockApi.received("resetPasskeys")).toHaveLength(1);
  await screen.findByText(t("signIn.user.resetDone"));
});
