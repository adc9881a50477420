import { screen, waitFor } from "@testing-library/dom";
import { beforeEach, expect, test, vi } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, fill, findDialog, findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";
import { createWireGuardKeys } from "./wireguard-key.ts";

const keys = await createWireGuardKeys();
const { publicKey } = keys;
const device = sample("Device", { name: "Phone", status: "Offline", active: true, agent: false, publicKey });
const laptop = sample("Device", { name: "Laptop", status: "Online", active: true });
const routes = {
  device: device.id,
  ipv4: "100.64.0.9",
  ipv6: "fd00::9",
  gateways: [
    {
      gateway: newId(),
      publicKey: `${"B".repeat(42)}A=`,
      addresses: ["100.64.0.1", "fd00::1"],
      endpoint: "192.0.2.1:51820",
      relays: [],
      allowedIps: ["10.1.0.0/16"],
      names: ["wiki.internal"],
    },
  ],
};
const challenge = {
  ticket: "ticket",
  tenant: newId(),
  user: newId(),
  ephemeralKey: keys.publicKey,
  nonce: `${"A".repeat(43)}=`,
  expiresAt: "2030-01-01T00:00:00.000Z",
};

beforeEach(() => {
  mockApi.signInPerson();
  mockApi.answer("get", "/tenants/my", {
    id: newId(),
    email: "a@example.com",
    organisation: "A",
    devices: 1,
    deviceLimit: 5,
  });
  mockApi.answer("get", "/tenants/my/devices", [laptop, device]);
  mockApi.answer("get", "/tenants/my/access", pageOf([]));
  mockApi.answer("post", "/tenants/my/devices/key-challenge", challenge);
  mockApi.answer("post", "/tenants/my/devices", device);
  mockApi.answer("get", "/tenants/my/devices/{id}/configuration", routes);
});

function savedFile(): Promise<string> {
  // The window would follow the link of the download.
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockReturnValue(undefined);
  return new Promise((resolve) => {
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
      void (blob as Blob).text().then(resolve);
      return "blob:test";
    });
  });
}

async function chooseFile(text: string): Promise<void> {
  const user = openConsole("/my");
  await click(user, t("my.devices.updateLabel", { name: "Phone" }));
  const dialog = await findDialog(t("my.app.updateTitle", { name: "Phone" }));
  const button = dialog.getByRole<HTMLButtonElement>("button", { name: t("my.app.choose") });
  await waitFor(() => expect(button.disabled).toBe(false));
  const input = document.querySelector<HTMLInputElement>("input[type=file]");
  if (input === null) throw new Error("the dialog has no field for files");
  await user.upload(input, new File([text], "gatehouse.conf", { type: "text/plain" }));
}

test("adds a phone: the private key is in the file and in no request", async () => {
  const saved = savedFile();
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  await fill(user, t("my.app.name"), " Phone ");
  await click(user, t("my.app.create"));
  const dialog = await findDialog(t("my.app.fileTitle", { name: "Phone" }));
  dialog.getByRole("img", { name: t("my.app.qr", { name: "Phone" }) });
  dialog.getByText(/cannot reach these names: wiki\.internal/);
  await user.click(dialog.getByRole("button", { name: t("my.app.download") }));
  const file = await saved;
  expect(file).toContain("Address = 100.64.0.9/32, fd00::9/128");
  expect(file).toContain("AllowedIPs = 100.64.0.1/32, fd00::1/128, 10.1.0.0/16");
  const [body] = mockApi.bodies("addMyDevice") as [{ publicKey: string }];
  expect(body).toEqual({ name: "Phone", publicKey: body.publicKey, ticket: "ticket", proof: expect.any(String) });
  const privateKey = /PrivateKey = (\S+)/.exec(file)?.[1] ?? "";
  expect(privateKey).toMatch(/^\S{43}=$/);
  for (const operation of ["createMyKeyChallenge", "addMyDevice", "readMyDeviceConfiguration"]) {
    expect(JSON.stringify(mockApi.received(operation))).not.toContain(privateKey);
  }
  await user.keyboard("{Escape}");
  await findDialog(t("my.app.fileTitle", { name: "Phone" }));
  await user.click(dialog.getByRole("button", { name: t("my.app.done") }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("says what to do with a device that waits for an approval", async () => {
  mockApi.answer("post", "/tenants/my/devices", { ...device, active: false, approval: "pending" });
  mockApi.answer("get", "/tenants/my/devices/{id}/configuration", { ...routes, gateways: [] });
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  await fill(user, t("my.app.name"), "Phone");
  await click(user, t("my.app.create"));
  await screen.findByText(t("my.app.pending"));
});

test("says that a WireGuard app never reaches what needs the agent", async () => {
  mockApi.answer("get", "/tenants/my/devices/{id}/configuration", { ...routes, gateways: [] });
  const wiki = { id: newId(), name: "Wiki", state: "blocked", addresses: ["wiki.internal"] } as const;
  mockApi.answer("get", "/tenants/my/access", pageOf([wiki]));
  mockApi.answer("post", "/tenants/my/access/explanation", { reachable: false, missing: [{ kind: "agent_required" }] });
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  await fill(user, t("my.app.name"), "Phone");
  await click(user, t("my.app.create"));
  await screen.findByText(t("my.app.needsAgent"));
  expect(screen.queryByText(later("noAccess"))).toBeNull();
});

const later = (reason: "noAccess" | "unserved") => t("my.app.updateLater", { reason: t(`my.app.${reason}`) });

test("says that access lacks a gateway, and not that there is no access", async () => {
  mockApi.answer("get", "/tenants/my/devices/{id}/configuration", { ...routes, gateways: [] });
  const wiki = { id: newId(), name: "Wiki", state: "unavailable", addresses: ["wiki.internal"] } as const;
  mockApi.answer("get", "/tenants/my/access", pageOf([wiki]));
  const user = openConsole("/my?add=1");
  await fill(user, t("my.app.name"), "Phone");
  await click(user, t("my.app.create"));
  await screen.findByText(later("unserved"));
  expect(screen.queryByText(later("noAccess"))).toBeNull();
});

test("says that no gateway in service carries the resources of a WireGuard app", async () => {
  const unserved = { addresses: ["192.0.2.0/24"], names: [] };
  mockApi.answer("get", "/tenants/my/devices/{id}/configuration", { ...routes, gateways: [], unserved });
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  await fill(user, t("my.app.name"), "Phone");
  await click(user, t("my.app.create"));
  await screen.findByText(later("unserved"));
});

test("shows why a device cannot be added, and keeps the form", async () => {
  mockApi.answer("post", "/tenants/my/devices", problem("device_limit_reached", { detail: "The limit is 5." }));
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  await fill(user, t("my.app.name"), "Phone");
  await click(user, t("my.app.create"));
  await screen.findByText(/The limit is 5/);
  await findDialog(t("my.devices.add"));
});

test("makes no keys on a page that was loaded over plain HTTP", async () => {
  const subtle = vi.spyOn(globalThis.crypto, "subtle", "get").mockReturnValue(undefined as unknown as SubtleCrypto);
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  await screen.findByText(t("my.app.insecure"));
  expect(screen.queryByLabelText(t("my.app.name"))).toBeNull();
  subtle.mockRestore();
});

test("puts the current gateways into the saved file", async () => {
  const saved = savedFile();
  await chooseFile(`[Interface]\nPrivateKey = ${keys.privateKey}\n`);
  const dialog = await findDialog(t("my.app.fileTitle", { name: "Phone" }));
  dialog.getByRole("button", { name: t("my.app.download") }).click();
  const file = await saved;
  expect(file).toContain(`PrivateKey = ${keys.privateKey}`);
  expect(file).toContain("Endpoint = 192.0.2.1:51820");
});

test.each([
  ["[Peer]\n", "my.app.noKey"],
  [`PrivateKey = ${"A".repeat(43)}=`, "my.app.otherKey"],
] as const)("refuses the file %j", async (text, message) => {
  await chooseFile(text);
  await screen.findByText(t(message));
});

test("signs in again on a device whose session has ended", async () => {
  const session = { methods: [], endsAt: "2026-01-01T00:00:00.000Z" };
  mockApi.answer("get", "/tenants/my/devices", [
    { ...device, session },
    { ...laptop, session },
  ]);
  const user = openConsole("/my");
  const panel = await findPanel(t("my.devices.title"));
  await panel.findByText(t("my.devices.endedApp"));
  panel.getByText(t("my.devices.endedAgent"));
  await click(user, t("my.devices.signInLabel", { name: "Phone" }));
  await waitFor(() => expect(mockApi.writes()).toContain(`POST /tenants/my/devices/${device.id}/sign-in`));
  expect(panel.queryByRole("button", { name: t("my.devices.signInLabel", { name: "Laptop" }) })).toBeNull();
});

test("offers a new sign-in without a lifetime of sessions too, because rules can require one", async () => {
  const session = { methods: ["hwk"], signedInAt: "2026-01-01T00:00:00.000Z" };
  mockApi.answer("get", "/tenants/my/devices", [{ ...device, session }]);
  const user = openConsole("/my");
  await click(user, t("my.devices.signInLabel", { name: "Phone" }));
  await waitFor(() => expect(mockApi.writes()).toContain(`POST /tenants/my/devices/${device.id}/sign-in`));
});
