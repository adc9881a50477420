import { screen, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const list = async () => within(await screen.findByRole("region", { name: t("overview.firstSteps.title") }));

test("a new tenant starts with the gateway", async () => {
  openConsole("/overview");
  const steps = await list();
  steps.getByText(t("overview.firstSteps.progress", { done: 0, total: 5 }));
  expect(steps.getByRole("link").getAttribute("href")).toBe("/console/gateways");
});

test("continues with the first step that is not done", async () => {
  mockApi.answer("get", "/tenants/gateways", [sample("Gateway", { status: "ONLINE" })]);
  mockApi.answer("get", "/tenants/resources", pageOf([sample("Resource", { id: newId() })]));
  openConsole("/overview");
  const steps = await list();
  await steps.findByText(t("overview.firstSteps.progress", { done: 2, total: 5 }));
  expect(steps.getByRole("link").textContent).toBe(t("overview.firstSteps.device.action"));
});

test("is not shown to keys that cannot take the steps", async () => {
  mockApi.signIn(["gateways:read", "resources:read", "events:read"]);
  openConsole("/overview");
  await screen.findByRole("region", { name: t("overview.gateways.title") });
  expect(screen.queryByRole("region", { name: t("overview.firstSteps.title") })).toBeNull();
});
