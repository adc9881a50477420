import { screen, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findDialog, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test.each([
  { count: 1, reset: "passkeys", names: /passkeys.*sessions.*links/ },
  { count: 0, reset: "sessionsAndLinks", names: /^This (?!.*passkeys).*sessions.*links/ },
] as const)("a user with $count passkeys: the reset asks first, and names only what it ends", async (given) => {
  const { count, reset, names } = given;
  const id = newId();
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", status: "active" }));
  mockApi.answer(
    "get",
    "/tenants/users/{id}/passkeys",
    Array.from({ length: count }, () => sample("Passkey")),
  );
  const user = openConsole(`/users/${id}`);
  const panel = within(await screen.findByRole("region", { name: t("signIn.user.title") }));
  await panel.findByText(count === 0 ? t("common.none") : String(count));
  screen.getByText(t(`signIn.user.reset.${reset}.help`));
  await click(user, t(`signIn.user.reset.${reset}.label`));
  const dialog = await findDialog(t(`signIn.user.reset.${reset}.title`, { email: "ann@example.com" }));
  dialog.getByText(names);
  expect(mockApi.writes()).toEqual([]);
  await click(user, t(`signIn.user.reset.${reset}.label`));
  await waitForDialogToClose();
  expect(mockApi.received("resetPasskeys")).toHaveLength(1);
  await screen.findByText(t(`signIn.user.reset.${reset}.done`));
});
