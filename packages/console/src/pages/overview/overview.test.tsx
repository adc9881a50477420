import { screen, waitFor } from "@testing-library/dom";
import { beforeEach, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { formatStatus } from "../../records/status.tsx";
import { findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const gateway = sample("Gateway", { id: newId(), name: "Berlin", status: "ONLINE" });
const toneOf = (text: HTMLElement) => text.closest("[data-tone]")?.getAttribute("data-tone");

beforeEach(() => localStorage.clear());

test("an empty tenant has nothing that works", async () => {
  openConsole("/overview");
  for (const [title, text] of [
    [t("overview.findings.resources.title"), t("overview.findings.resources.empty")],
    [t("overview.findings.policies.title"), t("overview.findings.policies.empty")],
    [t("overview.devices.title"), t("overview.devices.none")],
  ] as const) {
    expect(toneOf(await (await findPanel(title)).findByText(text))).toBe("idle");
  }
});

test.each([
  ["ONLINE", "good", t("gateways.sync.states.nothingEnforced")],
  ["MAINTENANCE", "waiting", "–"],
  ["PENDING", "waiting", "–"],
] as const)("a gateway that enforces nothing and is %s has the status of its own page", async (status, tone, state) => {
  mockApi.answer("get", "/tenants/gateways", [{ ...gateway, status }]);
  mockApi.answer("get", "/tenants/gateways/{id}/sync", sample("GatewaySync", { state: "nothing-enforced" }));
  openConsole("/overview");
  const panel = await findPanel(t("overview.gateways.title"));
  const [, ofGateway, configuration] = await panel.findAllByRole("cell");
  expect(ofGateway?.textContent).toBe(formatStatus(status));
  expect(ofGateway?.querySelector("[data-tone]")?.getAttribute("data-tone")).toBe(tone);
  await waitFor(() => expect(configuration?.textContent).toBe(state));
  expect(configuration?.querySelector(".absent") != null).toBe(state === "–");
});

test.each([
  [7, "7"],
  [5, t("overview.gateways.generations", { applied: "5", target: "7" })],
])("a gateway that applied generation %i of 7 shows %s", async (applied, text) => {
  const point = (generation: number) => ({ generation, since: "2026-03-02T09:00:00.000Z" });
  mockApi.answer("get", "/tenants/gateways", [gateway]);
  mockApi.answer(
    "get",
    "/tenants/gateways/{id}/sync",
    sample("GatewaySync", { state: "applied", wanted: point(7), applied: point(applied) }),
  );
  openConsole("/overview");
  const panel = await findPanel(t("overview.gateways.title"));
  await panel.findByRole("cell", { name: text });
});

test.each([
  ["ONLINE", 0, "good", t("overview.summary.works")],
  ["OFFLINE", 2, "bad", "Needs attention: 1 gateway is offline and 2 resources are unreachable"],
] as const)(
  "the summary of a gateway that is %s and of %i unreachable resources",
  async (status, count, tone, text) => {
    const none = { count: 0, lookedAt: 3, total: 3, first: [] };
    mockApi.answer("get", "/tenants/gateways", [{ ...gateway, status }]);
    mockApi.answer("get", "/tenants/access/findings", {
      generation: 1,
      unreachableResources: { ...none, count },
      neverMatchingPolicies: none,
      closedAddresses: none,
      divertedAddresses: none,
    });
    mockApi.answer("get", "/tenants/resources", pageOf([], 5));
    openConsole("/overview");
    const summary = await findPanel(t("overview.summary.title"));
    await waitFor(() => {
      const verdict = document.querySelector(".summary .verdict [data-tone]");
      expect([verdict?.textContent, verdict?.getAttribute("data-tone")]).toEqual([text, tone]);
    });
    expect((await summary.findByRole("link", { name: /^Resources/ })).textContent).toBe("Resources5");
  },
);

test.each([
  ["gateways_offline", "WikiIts gateway was never deployed: Berlin"],
  ["policies_let_nobody_in", /^WikiNo active user.* matches its policies, and its gateway was never deployed: Berlin$/],
] as const)("an unreachable resource (%s) names the gateway that was never deployed", async (reason, text) => {
  const wiki = { id: newId(), name: "Wiki" };
  const none = { count: 0, lookedAt: 0, total: 0, first: [] };
  mockApi.answer("get", "/tenants/gateways", [{ ...gateway, status: "PENDING", resources: [wiki] }]);
  mockApi.answer("get", "/tenants/access/findings", {
    generation: 1,
    unreachableResources: { count: 1, lookedAt: 1, total: 1, first: [{ ...wiki, reason }] },
    neverMatchingPolicies: none,
    closedAddresses: none,
    divertedAddresses: none,
  });
  openConsole("/overview");
  const panel = await findPanel(t("overview.findings.resources.title"));
  const line = (await panel.findByRole("link", { name: "Wiki" })).parentElement;
  await waitFor(() => expect(line?.textContent).toMatch(text));
});

test("an address without a common gateway names the resource whose gateways get its packets", async () => {
  const [wiki, git] = [
    { id: newId(), name: "Wiki" },
    { id: newId(), name: "Git" },
  ];
  const none = { count: 0, lookedAt: 2, total: 2, first: [] };
  mockApi.answer("get", "/tenants/access/findings", {
    generation: 1,
    unreachableResources: none,
    neverMatchingPolicies: none,
    closedAddresses: none,
    divertedAddresses: { ...none, count: 1, first: [{ resource: git, address: "10.0.0.5", routedFor: wiki }] },
  });
  openConsole("/overview");
  const panel = await findPanel(t("overview.findings.diverted.title"));
  const line = (await panel.findByRole("link", { name: "Git" })).parentElement;
  expect(line?.textContent).toBe("Git10.0.0.5: packets go to the gateways of “Wiki”");
  const summary = await findPanel(t("overview.summary.title"));
  await summary.findByText(/1 address has no common gateway/);
});

test("problems come before the recent changes, so that a phone shows them first", async () => {
  openConsole("/overview");
  const position = async (title: string) => {
    await findPanel(title);
    const panels = [...document.querySelectorAll("main section[aria-label]")];
    return panels.findIndex((panel) => panel.getAttribute("aria-label") === title);
  };
  const changes = await position(t("overview.events.title"));
  for (const title of [
    t("overview.accessTests.title"),
    t("overview.findings.resources.title"),
    t("overview.findings.policies.title"),
    t("overview.devices.title"),
  ]) {
    expect(await position(title)).toBeLessThan(changes);
  }
});

test("the number of policies says that it leaves out the default one", async () => {
  openConsole("/overview");
  const summary = await findPanel(t("overview.summary.title"));
  await summary.findByText(t("overview.summary.besidesDefault"));
});

test("changes of one operation to records of several kinds differ", async () => {
  const change = (type: "user" | "device", name: string) =>
    sample("Event", { id: newId(), operation: "deactivateUser", target: { type, id: newId(), name } });
  mockApi.answer("get", "/tenants/events", pageOf([change("user", "ann@example.com"), change("device", "Laptop")]));
  openConsole("/overview");
  const panel = await findPanel(t("overview.events.title"));
  await panel.findByText("Deactivated user: ann@example.com");
  panel.getByText("Deactivated user: Laptop (device)");
});

test("a change of the tenant's settings does not name them twice", async () => {
  const target = { type: "tenant-settings" as const, id: newId(), name: "settings" };
  mockApi.answer(
    "get",
    "/tenants/events",
    pageOf([sample("Event", { id: newId(), operation: "replaceTenantSettings", target })]),
  );
  openConsole("/overview");
  const panel = await findPanel(t("overview.events.title"));
  await panel.findByRole("link", { name: "Updated settings" });
});

test("the actor of a change is one line, with the whole name on request", async () => {
  const name = "A key with a name that is much longer than the column";
  mockApi.answer(
    "get",
    "/tenants/events",
    pageOf([sample("Event", { id: newId(), actor: { type: "api-key", name } })]),
  );
  openConsole("/overview");
  const panel = await findPanel(t("overview.events.title"));
  const shown = t("events.actors.named", { type: t("events.actors.apiKey"), name });
  const actor = (await panel.findByText(shown)).parentElement;
  expect(actor?.title).toBe(shown);
  expect(actor?.dataset.truncate).toBe("end");
});

test("a time that never was is less prominent than a time", async () => {
  const [never, just] = [
    sample("Device", { id: newId(), name: "Old" }),
    sample("Device", { id: newId(), name: "New", lastConnection: "2026-03-02T09:00:00.000Z" }),
  ];
  mockApi.answer("get", "/tenants/devices", pageOf([never, just]));
  openConsole("/devices");
  const text = await screen.findByText(t("common.never"));
  await waitFor(() => expect(text.style.color).toContain("dimmed"));
});

test("devices that wait for an administrator are part of what needs attention", async () => {
  const two = [sample("Device", { id: newId() }), sample("Device", { id: newId() })];
  mockApi.answer("get", "/tenants/devices", ({ query }) => pageOf(query["filter[approval]"] === "pending" ? two : []));
  openConsole("/overview");
  const words = t("overview.summary.approvals", { count: 2 });
  await screen.findByText(new RegExp(`${words}$`), { selector: ".verdict *" });
  const panel = await findPanel(t("overview.devices.title"));
  const link = await panel.findByRole("link", { name: words });
  expect(link.getAttribute("href")).toBe("/console/device-approvals");
});

test("the problems and the number of hidden resources link to the list of unreachable resources", async () => {
  const first = Array.from({ length: 8 }, (_, index) => ({
    id: newId(),
    name: `Wiki ${index}`,
    reason: "no_gateways" as const,
  }));
  const unreachableResources = { count: 23, lookedAt: 23, total: 23, first };
  mockApi.answer("get", "/tenants/access/findings", sample("AccessFindings", { unreachableResources }));
  openConsole("/overview");
  for (const name of [t("overview.summary.resources", { count: 23 }), t("common.andMore", { count: 17 })]) {
    const link = await screen.findByRole("link", { name });
    expect(link.getAttribute("href")).toBe("/console/resources?unreachable=1");
  }
});
