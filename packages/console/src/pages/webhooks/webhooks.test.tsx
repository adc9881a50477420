import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("an inactive webhook promises no deliveries, and leads to its form", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/webhooks/{id}", sample("Webhook", { id, active: false }));
  openConsole(`/webhooks/${id}`);
  const panel = await findPanel(t("webhooks.deliveries.title"));
  await panel.findByText(t("webhooks.deliveries.empty.inactive"));
  expect(screen.queryByText(t("webhooks.deliveries.empty.text"))).toBeNull();
  expect(panel.getByRole("link", { name: t("common.edit") }).getAttribute("href")).toBe(
    `/console/webhooks/${id}?edit=1`,
  );
});
