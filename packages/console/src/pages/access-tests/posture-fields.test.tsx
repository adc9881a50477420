import { screen, waitFor, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, click, fill, findDialog, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("a device with a posture leaves each property open until it gets a value", async () => {
  mockApi.answer("get", "/tenants/groups", pageOf([sample("Group", { id: newId(), name: "Engineering" })]));
  mockApi.answer("get", "/tenants/resources", pageOf([sample("Resource", { id: newId(), name: "Wiki" })]));
  const posture = { firewall: true, managedBy: "company" };
  mockApi.answer("get", "/tenants/devices", pageOf([sample("Device", { id: newId(), posture })]));
  const user = openConsole("/access-tests?new=1");
  await findDialog(t("accessTests.create"));
  await fill(user, t("common.name"), "Unencrypted devices never reach Wiki");
  await choose(user, t("accessTests.subjects.group"), "Engineering");
  await choose(user, t("accessTests.fields.resource"), "Wiki");
  await user.click(screen.getByRole("radio", { name: t("accessTests.fields.devicePosture") }));
  for (const name of ["Disk encrypted", "Firewall", "Jailbroken", "OS up to date"]) {
    const values = within(await screen.findByRole("radiogroup", { name }));
    expect(values.getByRole<HTMLInputElement>("radio", { name: t("accessTests.fields.any") }).checked).toBe(true);
  }
  await screen.findByRole("combobox", { name: "Managed by" });
  const disk = within(screen.getByRole("radiogroup", { name: "Disk encrypted" }));
  await user.click(disk.getByRole("radio", { name: t("common.no") }));
  await click(user, t("common.create"));
  await waitFor(() =>
    expect(mockApi.bodies("createAccessTest")).toMatchObject([{ device: { posture: { diskEncrypted: false } } }]),
  );
  const [created] = mockApi.bodies("createAccessTest") as readonly { readonly device: unknown }[];
  expect(created?.device).toEqual({ posture: { diskEncrypted: false } });
});

test("a value has the type that the devices report", async () => {
  mockApi.answer("get", "/tenants/groups", pageOf([sample("Group", { id: newId(), name: "Engineering" })]));
  mockApi.answer("get", "/tenants/resources", pageOf([sample("Resource", { id: newId(), name: "Wiki" })]));
  const device = (posture: Readonly<Record<string, string | number | boolean>>) =>
    sample("Device", { id: newId(), posture });
  const devices = [device({ build: "14", patch: 2, tier: "true" }), device({ build: "14", patch: "2", tier: "gold" })];
  mockApi.answer("get", "/tenants/devices", pageOf(devices));
  const user = openConsole("/access-tests?new=1");
  await findDialog(t("accessTests.create"));
  await fill(user, t("common.name"), "Old devices never reach Wiki");
  await choose(user, t("accessTests.subjects.group"), "Engineering");
  await choose(user, t("accessTests.fields.resource"), "Wiki");
  await user.click(screen.getByRole("radio", { name: t("accessTests.fields.devicePosture") }));
  await choose(user, "Build", "14");
  await choose(user, "Tier", "true");
  // Two values that look alike.
  await choose(user, "Patch", '"2"');
  await click(user, t("common.create"));
  await waitFor(() => expect(mockApi.bodies("createAccessTest")).toHaveLength(1));
  const [created] = mockApi.bodies("createAccessTest") as readonly { readonly device: unknown }[];
  expect(created?.device).toEqual({ posture: { build: "14", tier: "true", patch: "2" } });
});
