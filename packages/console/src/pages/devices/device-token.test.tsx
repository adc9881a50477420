import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { chooseAction, click, findDialog, findPanel, openConsole } from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

const id = newId();
const device = sample("Device", { id, name: "Laptop", active: true });

test("rotates the token of a device, and shows the new one once", async () => {
  mockApi.answer("get", "/tenants/devices/{id}", device);
  mockApi.answer("post", "/tenants/devices/{id}/rotate-token", { token: "gatehouse_device_new" });
  const user = openConsole(`/devices/${id}`);
  await chooseAction(user, t("common.more"), t("devices.token.label"));
  await findDialog(t("devices.token.title", { name: "Laptop" }));
  await click(user, t("devices.token.label"));
  const shown = await findDialog(t("devices.token.shown", { name: "Laptop" }));
  await shown.findByText("gatehouse_device_new");
  expect(mockApi.received("rotateDeviceToken")).toMatchObject([{ ifMatch: etag }]);
});

test("says that no gateway in service carries the resources of a device", async () => {
  const none = { device: id, ipv4: "100.64.0.2", ipv6: "fd00::2", gateways: [] };
  const unserved = { addresses: ["192.0.2.0/24"], names: [] };
  mockApi.answer("get", "/tenants/devices/{id}", device);
  mockApi.answer("get", "/tenants/devices/{id}/configuration", { ...none, unserved });
  openConsole(`/devices/${id}`);
  const panel = await findPanel(t("devices.routes.title"));
  await panel.findByText(t("devices.routes.unserved"));
  expect(panel.queryByText(t("devices.routes.empty"))).toBeNull();
});

test("shows the routes of a device by gateway", async () => {
  const gateway = sample("Gateway", { id: newId(), name: "Berlin" });
  mockApi.answer("get", "/tenants/devices/{id}", device);
  mockApi.answer("get", "/tenants/gateways", [gateway]);
  mockApi.answer("get", "/tenants/devices/{id}/configuration", {
    device: id,
    ipv4: "100.64.0.2",
    ipv6: "fd00::2",
    gateways: [
      {
        gateway: gateway.id,
        publicKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        addresses: ["100.64.0.1", "fd00::1"],
        relays: [],
        allowedIps: ["192.0.2.0/24"],
        names: ["wiki.example.com"],
      },
    ],
  });
  openConsole(`/devices/${id}`);
  const panel = await findPanel(t("devices.routes.title"));
  await panel.findByRole("link", { name: "Berlin" });
  expect(screen.getByRole("row", { name: /Berlin/ }).textContent).toContain("192.0.2.0/24wiki.example.com");
});
