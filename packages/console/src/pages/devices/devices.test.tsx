import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  choose,
  chooseAction,
  click,
  currentPath,
  findDialog,
  findPanel,
  openConsole,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const id = newId();
const owner = sample("DeviceUser", { id: newId(), email: "ann@example.com" });
const device = sample("Device", {
  id,
  name: "Ann's laptop",
  active: true,
  user: owner,
  os: "Debian",
  osVersion: "13",
  posture: { diskEncrypted: true, osUpToDate: false },
});

describe("the list of devices", () => {
  test("shows the user of each device, and that a device has none", async () => {
    mockApi.answer("get", "/tenants/devices", pageOf([device, sample("Device", { name: "Spare" })]));
    openConsole("/devices");
    const link = await screen.findByRole("link", { name: "ann@example.com" });
    expect(link.getAttribute("href")).toBe(`/console/users/${owner.id}`);
    expect(screen.getByRole("row", { name: /Spare/ }).textContent).toContain(t("devices.noUser"));
    expect(screen.getByRole("row", { name: /Ann's laptop/ }).textContent).toContain("Debian 13");
  });

  test("the filter of stale devices says that it includes devices that never connected", async () => {
    openConsole("/devices");
    const filter = await screen.findByRole("checkbox", { name: "No connection for 30 days" });
    expect(filter.getAttribute("aria-description")).toBe(t("devices.notSeenHelp"));
  });

  test("a device that waits for approval is not called deactivated", async () => {
    const waiting = sample("Device", {
      name: "Tablet",
      status: "Deactivated",
      active: false,
      approval: "pending",
      user: owner,
    });
    mockApi.answer("get", "/tenants/devices", pageOf([waiting]));
    openConsole("/devices");
    const row = await screen.findByRole("row", { name: /Tablet/ });
    expect(row.querySelector("[data-tone=waiting]")?.textContent).toBe(t("devices.approval.pending"));
    expect(row.textContent).not.toContain(t("records.status.deactivated"));
  });

  test("shows the whole key of a device that waits for approval", async () => {
    const waiting = sample("Device", {
      name: "Tablet",
      status: "Deactivated",
      approval: "pending",
      publicKey: `${"k".repeat(43)}=`,
      user: owner,
      os: "Debian",
    });
    mockApi.answer("get", "/tenants/devices", pageOf([waiting]));
    openConsole("/device-approvals");
    await screen.findByText(waiting.publicKey);
    screen.getByText("Debian");
  });

  test("filters by activation", async () => {
    mockApi.answer("get", "/tenants/devices", pageOf([device]));
    const user = openConsole("/devices");
    await choose(user, t("common.status"), t("records.status.deactivated"));
    await waitFor(() => expect(mockApi.received("listDevices").at(-1)?.query["filter[active]"]).toBe("false"));
    expect(currentPath()).toBe("/devices?active=false");
  });
});

describe("the page of a device", () => {
  test.each([
    [true, t("devices.userDeactivated.status")],
    [false, t("records.status.deactivated")],
  ])("says whether the device or its user is deactivated (active: %s)", async (active, status) => {
    mockApi.answer("get", "/tenants/devices/{id}", { ...device, active, status: "Deactivated" });
    openConsole(`/devices/${id}`);
    await screen.findByText(status);
    expect(screen.queryByText(t("devices.userDeactivated.text")) !== null).toBe(active);
  });

  test("shows the posture that the device reported", async () => {
    mockApi.answer("get", "/tenants/devices/{id}", device);
    openConsole(`/devices/${id}`);
    const posture = await findPanel(t("devices.posture"));
    expect(posture.getAllByRole("definition").map(({ textContent }) => textContent)).toEqual([
      t("common.yes"),
      t("common.no"),
    ]);
  });

  test("says that a WireGuard app never reports a posture", async () => {
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Phone", agent: false }));
    openConsole(`/devices/${id}`);
    await screen.findByText(t("devices.postureNone"));
    expect(screen.queryByText(t("devices.postureEmpty"))).toBeNull();
  });

  test("says that a deactivation ended the session, even without a lifetime", async () => {
    const session = {
      signedInAt: "2026-03-01T09:00:00Z",
      methods: [],
      ended: true,
      endReason: "user-deactivated",
    } as const;
    mockApi.answer("get", "/tenants/devices/{id}", { ...device, status: "Deactivated", session });
    openConsole(`/devices/${id}`);
    const about = await findPanel(t("common.about"));
    const fact = (label: string) => about.getByText(label).parentElement?.textContent;
    expect(fact(t("devices.fields.session"))).toContain(t("deviceSessions.states.ended"));
    expect(fact(t("deviceSessions.fields.endReason"))).toContain(t("deviceSessions.reasons.user-deactivated"));
  });

  test("shows that the device reported no posture", async () => {
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Spare" }));
    openConsole(`/devices/${id}`);
    await screen.findByText(t("devices.postureEmpty"));
  });

  test.each([
    [t("devices.deactivate.label"), "deactivateDevice", true],
    [t("devices.reactivate.label"), "reactivateDevice", false],
  ])("%s: sends the request after its review", async (label, operation, active) => {
    mockApi.answer("get", "/tenants/devices/{id}", { ...device, active });
    const user = openConsole(`/devices/${id}`);
    await click(user, label);
    await findDialog();
    expect(mockApi.writes()).toEqual([]);
    await click(user, label);
    await waitForDialogToClose();
    expect(mockApi.received(operation)).toMatchObject([{ ifMatch: etag }]);
  });

  test.each([[t("devices.resetKey.label"), "resetDeviceKey", true]])(
    "%s: is sent after its review",
    async (label, operation, active) => {
      mockApi.answer("get", "/tenants/devices/{id}", { ...device, active });
      const user = openConsole(`/devices/${id}`);
      await chooseAction(user, t("common.more"), label);
      await findDialog();
      expect(mockApi.writes()).toEqual([]);
      await click(user, label);
      await waitForDialogToClose();
      expect(mockApi.received(operation)).toMatchObject([{ ifMatch: etag }]);
    },
  );

  test("offers no reactivation of a device without a user", async () => {
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Spare", active: false }));
    const user = openConsole(`/devices/${id}`);
    await click(user, t("common.more"));
    await screen.findByRole("menuitem", { name: t("common.delete") });
    expect(screen.queryByRole("button", { name: t("devices.reactivate.label") })).toBeNull();
  });

  test("deletes the device after its review, and returns to the list", async () => {
    mockApi.answer("get", "/tenants/devices/{id}", device);
    const user = openConsole(`/devices/${id}`);
    await chooseAction(user, t("common.more"), t("common.delete"));
    await findDialog(t("devices.delete.title", { name: "Ann's laptop" }));
    await click(user, t("common.delete"));
    await waitFor(() => expect(currentPath()).toBe("/devices"));
    expect(mockApi.received("deleteDevice")).toMatchObject([{ ifMatch: etag }]);
  });
});

describe("the dialog that adds a device", () => {
  test("starts at its first action, not at the button that closes it", async () => {
    const user = openConsole("/devices");
    await click(user, t("devices.add.label"));
    const dialog = await findDialog(t("devices.add.label"));
    const first = dialog.getByRole("button", { name: t("devices.add.copyPage") });
    await waitFor(() => expect(document.activeElement).toBe(first));
    // The exception below it, a link for a person who cannot sign in yet, is less prominent.
    expect(first.dataset.variant).not.toBe("default");
    expect(dialog.getByRole("button", { name: t("enrolmentLinks.createFor") }).dataset.variant).toBe("default");
  });

  test("asks for a user only if an invitation link is to be created", async () => {
    const user = openConsole("/devices?new=1");
    const dialog = await findDialog(t("devices.add.label"));
    const field = dialog.getByRole("combobox", { name: t("enrolmentLinks.person") });
    expect(field.hasAttribute("required")).toBe(false);
    expect(dialog.queryByText(t("enrolmentLinks.selectPerson"))).toBeNull();
    await click(user, t("enrolmentLinks.createFor"));
    await dialog.findByText(t("enrolmentLinks.selectPerson"));
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(mockApi.writes()).toEqual([]);
  });

  test("closes only by the button of the link while it shows the link", async () => {
    mockApi.signInPerson(permissions);
    const link = sample("NewEnrolmentLink", {
      url: "https://gatehouse.example.com/console/enrol#secret",
      code: "ABCD-EFGH",
    });
    mockApi.answer("post", "/tenants/users/{id}/enrolment-links", link);
    const user = openConsole("/devices");
    await click(user, t("devices.add.label"));
    const dialog = await findDialog(t("devices.add.label"));
    const closers = () => dialog.queryAllByRole("button", { name: t("common.close") });
    expect(closers()).toHaveLength(2);
    await click(user, t("enrolmentLinks.createFor"));
    await dialog.findByText(link.url);
    expect(closers()).toEqual([]);
    await user.keyboard("{Escape}");
    dialog.getByText(link.url);
    await user.click(dialog.getByRole("button", { name: t("records.secret.saved") }));
    expect(closers()).toHaveLength(2);
  });
});
