import { screen, waitFor, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, fill, findPanel, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { sample } from "../../testing/sample.ts";

const settings = {
  configurationLifetime: 86_400,
  sessionLifetime: 43_200,
  sessionIdleTime: 3_600,
  singleSignOnOnly: false,
  deviceApproval: "automatic",
  deviceSessionLifetime: null,
} as const;

test("shows the settings in minutes, and changes one against the version that was read", async () => {
  mockApi.answer("get", "/tenants/settings", sample("TenantSettings", settings));
  const user = openConsole("/settings");
  const field = await screen.findByLabelText<HTMLInputElement>(t("settings.fields.configurationLifetime"));
  expect(field.value).toBe("1440 min");
  await fill(user, t("settings.fields.configurationLifetime"), "90");
  await click(user, t("common.save"));
  await waitFor(() =>
    expect(mockApi.received("replaceTenantSettings")).toMatchObject([
      { body: { ...settings, configurationLifetime: 5_400 }, ifMatch: etag },
    ]),
  );
});

test("shows the effect of a lifetime of device sessions before it is saved", async () => {
  mockApi.answer("get", "/tenants/settings", sample("TenantSettings", settings));
  const user = openConsole("/settings");
  await fill(user, t("settings.fields.deviceSessionLifetime"), "480");
  await click(user, t("common.save"));
  const dialog = within(await screen.findByRole("dialog"));
  await dialog.findByText(t("settings.review.note"));
  const body = { ...settings, deviceSessionLifetime: 28_800 };
  await waitFor(() => expect(mockApi.bodies("previewAccess")).toMatchObject([{ changes: [{ method: "PUT", body }] }]));
  expect(mockApi.received("replaceTenantSettings")).toEqual([]);
  await waitFor(() => expect(dialog.getByRole("button", { name: t("common.save") })).toHaveProperty("disabled", false));
  await user.click(dialog.getByRole("button", { name: t("common.save") }));
  await waitForDialogToClose();
  expect(mockApi.received("replaceTenantSettings")).toMatchObject([{ body, ifMatch: etag }]);
});

test("rotates the signing key with a reason, and shows the new key", async () => {
  mockApi.answer(
    "post",
    "/tenants/signing-key/rotate",
    sample("ConfigurationSigningKey", { publicKey: "bmV3IGtleQ==" }),
  );
  const user = openConsole("/settings");
  await click(user, t("settings.signingKey.rotate"));
  await fill(user, new RegExp(t("settings.signingKey.reason")), "Yearly");
  await click(user, t("settings.signingKey.rotate"));
  await waitForDialogToClose();
  await screen.findByText("bmV3IGtleQ==");
  expect(mockApi.bodies("rotateSigningKey")).toEqual([{ reason: "Yearly" }]);
});

test("offers no change without the permissions", async () => {
  mockApi.signIn(["settings:read"]);
  openConsole("/settings");
  await findPanel(t("settings.agents"));
  await waitFor(() => expect(screen.queryByRole("button", { name: t("common.save") })).toBeNull());
  expect(screen.queryByRole("button", { name: t("settings.signingKey.rotate") })).toBeNull();
});
