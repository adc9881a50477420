import { describe, expect, test } from "vitest";
import { formatTime } from "../../messages/format.ts";
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
  expect(mockApi.received("replaceGatewaySettings")).toMatchObject([
    { body: { ...settings, relayPort: "51821" }, ifMatch: etag },
  ]);
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

test("shows the last report of the gateway beside its configuration", async () => {
  mockApi.answer("get", "/tenants/gateways/{id}", gateway);
  mockApi.answer("post", "/tenants/gateways/{id}/test-configuration", {
    status: "NOT_REACHABLE",
    details: "Its last heartbeat was at 2026-03-02T09:00:00.000Z.",
  });
  const user = openConsole(`/gateways/${id}`);
  const panel = await findPanel(t("gateways.sync.title"));
  await click(user, t("gateways.sync.lastReport.show"));
  await panel.findByText(t("gateways.sync.lastReport.NOT_REACHABLE"));
  panel.getByText(`Its last heartbeat was at ${formatTime("2026-03-02T09:00:00.000Z")}.`);
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
