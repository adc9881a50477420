import { screen, waitFor, within } from "@testing-library/dom";
import { beforeEach, expect, test } from "vitest";
import { formatZonedTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import {
  click,
  currentPath,
  fill,
  findDialog,
  findPanel,
  findTitle,
  openConsole,
} from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";
import { formatMissing } from "./format-missing.ts";

const laptop = sample("Device", { name: "Laptop", status: "Online", active: true });
const phone = sample("Device", { name: "Phone", status: "Deactivated", active: false, approval: "pending" });
const wiki = { id: newId(), name: "Wiki", state: "available", addresses: ["wiki.internal"] } as const;
const lab = { id: newId(), name: "Lab", state: "blocked", addresses: ["10.1.0.2"] } as const;
const myself = {
  id: newId(),
  email: "ann@example.com",
  organisation: "Example Ltd",
  devices: 2,
  deviceLimit: 5,
  sourceAddress: "192.0.2.7",
};

beforeEach(() => {
  mockApi.signInPerson();
  mockApi.answer("get", "/tenants/my", myself);
  mockApi.answer("get", "/tenants/my/devices", [laptop, phone]);
  mockApi.answer("get", "/tenants/my/access", pageOf([lab, wiki]));
});

test("a person without roles lands here, without the navigation of administrators", async () => {
  openConsole("/");
  await findTitle(t("my.title"));
  expect(currentPath()).toBe("/my");
  expect(screen.queryByRole("navigation")).toBeNull();
  expect(screen.queryByRole("button", { name: /search/i })).toBeNull();
});

test("a person with roles lands on the overview", async () => {
  mockApi.signInPerson(["users:read"]);
  openConsole("/");
  await findTitle(/overview/i);
});

test("the former address of the page leads here", async () => {
  openConsole("/account");
  await findTitle(t("my.title"));
  expect(currentPath()).toBe("/my");
});

test("empty lists say what they hold, and nothing can be searched", async () => {
  mockApi.answer("get", "/tenants/my/devices", []);
  mockApi.answer("get", "/tenants/my/access", pageOf([]));
  openConsole("/my");
  await screen.findByText(t("my.access.empty"));
  await screen.findByText(t("my.devices.empty"));
  await screen.findByText(t("signIn.account.passkeysEmpty"));
  expect(screen.queryByRole("searchbox", { name: t("my.access.search") })).toBeNull();
});

test("a search without results can be cleared without losing the focus", async () => {
  mockApi.answer("get", "/tenants/my/access", ({ query }) => pageOf(query.search === undefined ? [wiki] : []));
  const user = openConsole("/my");
  await screen.findByText("Wiki");
  const field = screen.getByRole("searchbox", { name: t("my.access.search") });
  await user.type(field, "zzz");
  await screen.findByText(t("my.access.emptySearch"));
  await user.clear(field);
  await screen.findByText("Wiki");
  expect(document.activeElement).toBe(field);
});

test("a session of a key is told why the page is empty", async () => {
  mockApi.signIn();
  openConsole("/my");
  await screen.findByText(/signed in with the API key “Test key”/);
  expect(mockApi.received("listMyDevices")).toEqual([]);
});

test("shows resources for the likely device, and says why one cannot be reached", async () => {
  mockApi.answer("post", "/tenants/my/access/explanation", {
    reachable: false,
    resource: { id: lab.id, name: "Lab" },
    missing: [
      { kind: "condition", about: "device", condition: "device.posture.diskEncrypted == true", negated: false },
      { kind: "network", networks: ["198.51.100.0/24"] },
    ],
  });
  const user = openConsole("/my");
  const panel = await findPanel(t("my.access.title"));
  await panel.findByText("wiki.internal");
  expect(mockApi.received("listMyAccess").at(-1)?.query.device).toBe(laptop.id);
  const why = panel.getByRole("button", { name: t("my.access.whyLabel", { name: "Lab" }) });
  expect(why.getAttribute("aria-expanded")).toBe("false");
  await user.click(why);
  await panel.findByText(/198\.51\.100\.0\/24\. You are at 192\.0\.2\.7/);
  expect(panel.getByText(/does not meet a condition.*Required:/).textContent).toMatch(/disk/i);
  expect(why.getAttribute("aria-expanded")).toBe("true");
  expect(mockApi.bodies("explainMyAccess")).toEqual([{ to: lab.id, device: laptop.id }]);
});

test.each([
  [false, "my.access.opens"],
  [true, "my.access.openUntil"],
] as const)("says when access changes next (reachable: %s)", async (reachable, message) => {
  const changesAt = "2026-11-26T08:00:00.000Z";
  mockApi.answer("post", "/tenants/my/access/explanation", {
    reachable,
    resource: { id: lab.id, name: "Lab" },
    missing: reachable ? [] : [{ kind: "condition", about: "time" }],
    validUntil: "2026-11-26T01:00:00.000Z",
    changesAt,
  });
  const user = openConsole("/my");
  await fill(user, t("my.access.checkLabel"), "Lab");
  await click(user, t("my.access.check"));
  await screen.findByText(t(message, { time: formatZonedTime(changesAt) }));
});

test("a person without a device is told to add one, not to choose one", () => {
  const missing = { kind: "device_required" } as const;
  expect(formatMissing(missing, "", false)).toBe(t("my.missing.device_required_none"));
  expect(formatMissing(missing, "", true)).toBe(t("my.missing.device_required"));
});

test("asks about a name that is not listed", async () => {
  mockApi.answer("post", "/tenants/my/access/explanation", { reachable: false, missing: [{ kind: "not_granted" }] });
  const user = openConsole("/my");
  await fill(user, t("my.access.checkLabel"), " payroll.internal ");
  await click(user, t("my.access.check"));
  await screen.findByText(t("my.missing.not_granted"));
  expect(mockApi.bodies("explainMyAccess")).toEqual([{ to: "payroll.internal", device: laptop.id }]);
});

test("searches on the server", async () => {
  const user = openConsole("/my");
  const field = await screen.findByRole("searchbox", { name: t("my.access.search") });
  await user.type(field, "lab");
  await waitFor(() => expect(mockApi.received("listMyAccess").at(-1)?.query.search).toBe("lab"));
});

test("renames and removes a device", async () => {
  const user = openConsole("/my");
  await click(user, t("my.devices.renameLabel", { name: "Laptop" }));
  await findDialog(t("my.devices.renameTitle", { name: "Laptop" }));
  await fill(user, t("my.devices.name"), "Work laptop");
  await click(user, t("my.devices.save"));
  await waitFor(() => expect(mockApi.bodies("renameMyDevice")).toEqual([{ name: "Work laptop" }]));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  await click(user, t("my.devices.removeLabel", { name: "Phone" }));
  const dialog = await findDialog(t("my.devices.removeTitle", { name: "Phone" }));
  await user.click(dialog.getByRole("button", { name: t("my.devices.remove") }));
  await waitFor(() => expect(mockApi.writes()).toContain(`DELETE /tenants/my/devices/${phone.id}`));
});

test("keeps the dialog open, and shows the reason, if the server refuses", async () => {
  mockApi.answer(
    "patch",
    "/tenants/my/devices/{id}",
    problem("access_tests_broken", { detail: "A test protects the name." }),
  );
  const user = openConsole("/my");
  await click(user, t("my.devices.renameLabel", { name: "Laptop" }));
  await fill(user, t("my.devices.name"), "Tablet");
  await click(user, t("my.devices.save"));
  await screen.findByText(/A test protects the name/);
  await findDialog(t("my.devices.renameTitle", { name: "Laptop" }));
});

test("shows how to add a device, within the limit", async () => {
  const user = openConsole("/my");
  await click(user, t("my.devices.add"));
  const dialog = await findDialog(t("my.devices.add"));
  await user.click(dialog.getByRole("radio", { name: t("my.devices.systems.agent") }));
  dialog.getByText(new RegExp(`gatehouse-device enrol --url ${window.location.origin}`));
});

test("commands have the public address, even if the page is open at another one", async () => {
  mockApi.install({ publicUrl: "https://gatehouse.example.com" });
  openConsole("/my");
  await screen.findByText("sudo gatehouse-device enrol --url https://gatehouse.example.com");
  expect(screen.queryByText(/works only on the server’s own machine/)).toBeNull();
});

test("access of a person without a device is not shown as access of an offline device", async () => {
  mockApi.answer("get", "/tenants/my/devices", []);
  mockApi.answer("get", "/tenants/my/access", pageOf([wiki]));
  openConsole("/my");
  await screen.findByText(t("my.access.states.withoutDevice"));
  expect(screen.queryByText(t("my.access.states.allowed"))).toBeNull();
});

test("nothing is available on a device that is offline", async () => {
  mockApi.answer("get", "/tenants/my/devices", [{ ...laptop, status: "Offline" }]);
  mockApi.answer("get", "/tenants/my/access", pageOf([wiki]));
  openConsole("/my");
  await screen.findByText(t("my.access.connectFirst", { device: "Laptop" }));
  screen.getByText(t("my.access.states.allowed"));
  expect(screen.queryByText(t("my.access.states.available"))).toBeNull();
  expect(screen.queryByRole("button", { name: t("my.access.whyLabel", { name: "Wiki" }) })).toBeNull();
});

test("does not offer another device at the limit", async () => {
  mockApi.answer("get", "/tenants/my", { ...myself, deviceLimit: 2 });
  openConsole("/my");
  const panel = await findPanel(t("my.devices.title"));
  await panel.findByText(t("my.devices.full"));
  expect(panel.getByRole<HTMLButtonElement>("button", { name: t("my.devices.add") }).disabled).toBe(true);
});

test("shows the states of devices in words", async () => {
  openConsole("/my");
  const panel = await findPanel(t("my.devices.title"));
  const row = (await panel.findByText("Phone")).closest("tr");
  within(row as HTMLElement).getByText(t("my.devices.states.pending")); // in a table
});

test.each([
  [{ kind: "device_required" }, /one of your devices/],
  [{ kind: "other_device", devices: ["Laptop", "Tablet"] }, /Laptop and Tablet/],
  [{ kind: "sign_in_again" }, /Sign in again on this device/],
  [{ kind: "condition", about: "person" }, /Your account does not meet/],
  [
    { kind: "condition", about: "time", condition: 'now.getHours("UTC") >= 9', negated: false },
    /at this time\. Required/,
  ],
  [{ kind: "condition", about: "device", condition: "size(device.posture) > 2" }, /^Your device does not meet[^:]*$/],
] as const)("says %o in words", (missing, words) => {
  expect(formatMissing(missing as Parameters<typeof formatMissing>[0], "192.0.2.7")).toMatch(words);
});

test("a person connects a Linux computer in the steps that the person takes, as wide as the panel", async () => {
  openConsole("/my");
  const panel = await findPanel(t("my.connect.title"));
  const steps = panel.getAllByRole("listitem");
  expect(steps).toHaveLength(2);
  const result = panel.getByText(t("my.connect.stepDone"));
  expect(result.closest("li")).toBeNull();
  expect(result.className).toContain("intro");
  const list = steps[0]?.closest<HTMLElement>("ol");
  expect(list?.getAttribute("style") ?? "").not.toMatch(/padding|margin/);
});
