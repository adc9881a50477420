import { describe, expect, test } from "vitest";
import { formatRelativeTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import {
  click,
  fill,
  findPanel,
  openConsole,
  reviewAndSend,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";
import { formatDomains, parseDomains } from "./gateway-domains.ts";

const id = newId();
const gateway = sample("Gateway", { id, name: "Berlin", status: "ONLINE" });
const settings = sample("GatewaySettings", {
  resolvers: ["192.0.2.53"],
  domains: [{ domain: "corp.example.com", resolvers: ["192.0.2.54"] }],
  networks: null,
  relayPort: null,
});

test("shows the settings of the site, and changes them after a review", async () => {
  mockApi.answer("get", "/tenants/gateways/{id}", gateway);
  mockApi.answer("get", "/tenants/gateways/{id}/settings", settings);
  const user = openConsole(`/gateways/${id}`);
  const panel = await findPanel(t("gateways.settings.title"));
  await panel.findByText("corp.example.com = 192.0.2.54");
  await click(user, t("gateways.settings.edit"));
  await fill(user, new RegExp(`^${t("gateways.settings.relayPort")}`), "51821");
  await reviewAndSend(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.received("replaceGatewaySettings")).toMatchObject([{ body: { relayPort: "51821" }, ifMatch: etag }]);
  expect(mockApi.bodies("replaceGatewaySettings")).toEqual([{ relayPort: "51821" }]);
});

test("sends only the addresses that were changed, because they need a recent sign-in", async () => {
  mockApi.answer("get", "/tenants/gateways/{id}", gateway);
  mockApi.answer("get", "/tenants/gateways/{id}/settings", settings);
  const user = openConsole(`/gateways/${id}`);
  await findPanel(t("gateways.settings.title"));
  await click(user, t("gateways.settings.edit"));
  await fill(user, new RegExp(`^${t("gateways.settings.domains")}`), "corp.example.com = 192.0.2.55");
  await reviewAndSend(user, t("common.save"));
  await waitForDialogToClose();
  const domains = [{ domain: "corp.example.com", resolvers: ["192.0.2.55"] }];
  expect(mockApi.bodies("replaceGatewaySettings")).toEqual([{ domains, relayPort: null }]);
});

test.each([
  [null, t("gateways.settings.networksDerived")],
  [[], t("gateways.settings.networksEmpty")],
  [["10.20.0.0/16"], "10.20.0.0/16"],
])("says what the networks %j mean", async (networks, text) => {
  mockApi.answer("get", "/tenants/gateways/{id}", gateway);
  mockApi.answer("get", "/tenants/gateways/{id}/settings", { ...settings, networks });
  openConsole(`/gateways/${id}`);
  await (await findPanel(t("gateways.settings.title"))).findByText(text);
});

test("shows the last report of the gateway as rows, with times in the format of the console", async () => {
  const [lastOnline, deployedOn] = ["2026-03-02T09:00:00.000Z", "2026-03-01T09:00:00.000Z"];
  mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, lastOnline, deployedOn });
  mockApi.answer("post", "/tenants/gateways/{id}/test-configuration", {
    status: "NOT_REACHABLE",
    details: `Its last heartbeat was at ${lastOnline}.`,
    error: "The port is in use",
  });
  const user = openConsole(`/gateways/${id}`);
  const panel = await findPanel(t("gateways.sync.title"));
  await click(user, t("gateways.sync.lastReport.show"));
  const row = (label: string) => panel.getByText(label).nextElementSibling?.textContent;
  await panel.findByText(t("gateways.sync.lastReport.NOT_REACHABLE"));
  expect(row(t("gateways.sync.lastReport.status"))).toBe(t("gateways.sync.lastReport.NOT_REACHABLE"));
  // The names of these times are those of the panel "About", which shows the same times.
  expect(row(t("gateways.fields.lastOnline"))).toBe(formatRelativeTime(lastOnline, Date.now()));
  expect(row(t("gateways.fields.deployedOn"))).toBe(formatRelativeTime(deployedOn, Date.now()));
  expect(row(t("gateways.sync.lastReport.error"))).toBe("The port is in use");
  expect(panel.queryByText(/\dZ/)).toBeNull();
});

test("shows the last report below the status of the configuration, and hides it again", async () => {
  mockApi.answer("get", "/tenants/gateways/{id}", gateway);
  mockApi.answer("get", "/tenants/gateways/{id}/sync", sample("GatewaySync", { state: "applied" }));
  mockApi.answer("post", "/tenants/gateways/{id}/test-configuration", { status: "ONLINE", details: "It is online." });
  const user = openConsole(`/gateways/${id}`);
  const panel = await findPanel(t("gateways.sync.title"));
  await click(user, t("gateways.sync.lastReport.show"));
  const title = await panel.findByRole("heading", { name: t("gateways.sync.lastReport.title") });
  const follows = panel.getByText(t("gateways.sync.states.applied")).compareDocumentPosition(title);
  expect(follows & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
  await click(user, t("gateways.sync.lastReport.hide"));
  await panel.findByRole("button", { name: t("gateways.sync.lastReport.show") });
  expect(panel.queryByRole("heading", { name: t("gateways.sync.lastReport.title") })).toBeNull();
});

describe("domains as text", () => {
  test("round-trip", () => {
    const { domains } = settings;
    expect(parseDomains(formatDomains(domains))).toEqual({ domains, invalid: [] });
  });

  test.each(["corp.example.com", "= 192.0.2.1", "a = 192.0.2.1 = b", "a ="])("%j is refused", (line) => {
    expect(parseDomains(`\n${line}\n`)).toEqual({ domains: [], invalid: [line] });
  });
});
