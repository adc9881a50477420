import { screen, waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, click, fill, findPanel, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { etag, mockApi, problem } from "../../testing/mock-api.ts";
import { pageOf, sample } from "../../testing/sample.ts";

const settings = {
  configurationLifetime: 86_400,
  sessionLifetime: 43_200,
  sessionIdleTime: 5_400,
  singleSignOnOnly: false,
  deviceApproval: "automatic",
  deviceSessionLifetime: null,
} as const;

function openSettings() {
  mockApi.answer("get", "/tenants/settings", sample("TenantSettings", settings));
  return openConsole("/settings");
}
const amountOf = async (name: string) => (await screen.findByRole<HTMLInputElement>("textbox", { name })).value;
const unitOf = (name: string) =>
  screen.getByRole<HTMLInputElement>("combobox", { name: t("records.duration.unit", { label: name }) }).value;
const outOfRange = t("records.duration.outOfRange", { min: "5 minutes", max: "30 days" });

test("says that the names of the tenant are fixed", async () => {
  openSettings();
  const tenant = await findPanel(t("settings.tenant"));
  tenant.getByText(t("settings.fixedNames"));
});

test("says that devices still await approval if new ones need none, and that groups can differ", async () => {
  mockApi.answer("get", "/tenants/devices", ({ query }) =>
    pageOf(query["filter[approval]"] === "pending" ? [sample("Device"), sample("Device")] : []),
  );
  openSettings();
  const agents = await findPanel(t("settings.agents"));
  agents.getByText(t("settings.groupsDiffer"));
  const link = await agents.findByRole("link", { name: "await approval" });
  expect(link.getAttribute("href")).toBe("/console/device-approvals");
  expect(link.closest("dd")?.textContent).toMatch(/^No2 devices/);
});

test("says nothing about devices that wait if new ones need approval", async () => {
  mockApi.answer("get", "/tenants/devices", pageOf([sample("Device")]));
  mockApi.answer(
    "get",
    "/tenants/settings",
    sample("TenantSettings", { ...settings, deviceApproval: "administrator" }),
  );
  openConsole("/settings");
  const agents = await findPanel(t("settings.agents"));
  await waitFor(() => expect(mockApi.received("listDevices")).toHaveLength(1));
  await mockApi.settled();
  expect(agents.queryByRole("link")).toBeNull();
});

test("explains the expiry of configurations at their lifetime", async () => {
  openSettings();
  const agents = await findPanel(t("settings.agents"));
  expect(agents.getByText(t("settings.agentsNote")).closest("dd")?.textContent).toMatch(/^1 day/);
});

test("shows each lifetime in the unit that suits it", async () => {
  const user = openSettings();
  const agents = await findPanel(t("settings.agents"));
  agents.getByText("1 day");
  expect(agents.getByText(t("settings.unlimited")).className).toContain("absent");
  const signIn = await findPanel(t("settings.signIn"));
  signIn.getByText("12 hours");
  signIn.getByText("90 minutes");
  await click(user, t("settings.editSignIn"));
  for (const [name, amount, unit] of [
    ["sessionLifetime", "12", "hours"],
    ["sessionIdleTime", "90", "minutes"],
  ] as const) {
    const label = t(`settings.fields.${name}`);
    expect([await amountOf(label), unitOf(label)]).toEqual([amount, t(`records.duration.${unit}`)]);
  }
});

test("refuses a lifetime that is out of range, at its field", async () => {
  const user = openSettings();
  await click(user, t("settings.editSignIn"));
  for (const amount of ["1000", ""]) {
    await fill(user, t("settings.fields.sessionLifetime"), amount);
    await screen.findByText(outOfRange);
    await click(user, t("common.save"));
    await screen.findByText(t("records.form.attention", { count: 1 }));
  }
  expect(mockApi.received("replaceTenantSettings")).toEqual([]);
});

test("writes only the changed setting, against the version that was read", async () => {
  const user = openSettings();
  await click(user, t("settings.editSignIn"));
  const label = t("settings.fields.sessionLifetime");
  await choose(user, t("records.duration.unit", { label }), t("records.duration.minutes"));
  await fill(user, label, "90");
  await click(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.received("replaceTenantSettings")).toMatchObject([
    { body: { sessionLifetime: 5_400 }, ifMatch: etag },
  ]);
});

test("keeps the amount while leading zeros or too many digits are typed", async () => {
  const user = openSettings();
  await click(user, t("settings.editAgents"));
  const label = t("settings.fields.deviceSessionLifetime");
  await fill(user, label, "08");
  expect(await amountOf(label)).toBe("8");
  await fill(user, label, "1234567890123456");
  await screen.findByText(t("records.duration.outOfRange", { min: "15 minutes", max: "365 days" }));
  await click(user, t("common.review"));
  await screen.findByText(t("records.form.attention", { count: 1 }));
});

test("writes nothing if somebody else made the same change meanwhile", async () => {
  const user = openSettings();
  await click(user, t("settings.editSignIn"));
  await fill(user, t("settings.fields.sessionIdleTime"), "60");
  mockApi.answer("put", "/tenants/settings", () => problem("precondition_failed"));
  mockApi.answer("get", "/tenants/settings", sample("TenantSettings", { ...settings, sessionIdleTime: 3_600 }));
  await click(user, t("common.save"));
  await click(user, t("records.conflict.save"));
  await waitForDialogToClose();
  expect(mockApi.received("replaceTenantSettings")).toHaveLength(1);
});

test("merges a setting that somebody else changed meanwhile", async () => {
  const user = openSettings();
  await click(user, t("settings.editSignIn"));
  await fill(user, t("settings.fields.sessionIdleTime"), "60");
  mockApi.answer("put", "/tenants/settings", () =>
    mockApi.received("replaceTenantSettings").length === 1
      ? problem("precondition_failed")
      : sample("TenantSettings", settings),
  );
  mockApi.answer("get", "/tenants/settings", sample("TenantSettings", { ...settings, singleSignOnOnly: true }));
  await click(user, t("common.save"));
  await screen.findByText(t("records.conflict.merged"));
  await click(user, t("records.conflict.save"));
  await waitForDialogToClose();
  expect(mockApi.bodies("replaceTenantSettings")).toEqual([{ sessionIdleTime: 3_600 }, { sessionIdleTime: 3_600 }]);
});

test("asks before unsaved settings are lost", async () => {
  const user = openSettings();
  await click(user, t("settings.editSignIn"));
  await fill(user, t("settings.fields.sessionIdleTime"), "60");
  await user.keyboard("{Escape}");
  await screen.findByText(t("records.form.discardTitle"));
});

test("shows the effect of a lifetime of device sessions before it is saved", async () => {
  const user = openSettings();
  await click(user, t("settings.editAgents"));
  await fill(user, t("settings.fields.deviceSessionLifetime"), "8");
  await click(user, t("common.review"));
  const change = { method: "PUT", path: "/tenants/settings", body: { deviceSessionLifetime: 28_800 } };
  await waitFor(() => expect(mockApi.bodies("previewAccess")).toMatchObject([{ changes: [change] }]));
  expect(mockApi.received("replaceTenantSettings")).toEqual([]);
  await click(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.received("replaceTenantSettings")).toMatchObject([{ body: change.body, ifMatch: etag }]);
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
  for (const part of ["editSignIn", "editAgents"] as const)
    expect(screen.queryByRole("button", { name: t(`settings.${part}`) })).toBeNull();
  expect(screen.queryByRole("button", { name: t("settings.signingKey.rotate") })).toBeNull();
});
