import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("an inactive webhook promises no deliveries, and is activated with one button", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/webhooks/{id}", sample("Webhook", { id, active: false }));
  const user = openConsole(`/webhooks/${id}`);
  const panel = await findPanel(t("webhooks.deliveries.title"));
  await panel.findByText(t("webhooks.deliveries.empty.inactive"));
  expect(screen.queryByText(t("webhooks.deliveries.empty.text"))).toBeNull();
  await click(user, t("webhooks.activate"));
  await screen.findByText(t("webhooks.activated"));
  expect(mockApi.bodies("patchWebhook")).toEqual([{ active: true }]);
});
