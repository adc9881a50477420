import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, fill, findPanel, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
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

test("an edit sends the URL only if it changed, because a URL requires a recent authentication", async () => {
  const id = newId();
  const webhook = sample("Webhook", { id, name: "Archive", url: "https://hooks.example.com/in" });
  mockApi.answer("get", "/tenants/webhooks/{id}", webhook);
  const user = openConsole(`/webhooks/${id}`);
  await click(user, t("common.edit"));
  await fill(user, t("common.description"), "Kept for a year");
  await click(user, t("common.save"));
  await waitForDialogToClose();
  await click(user, t("common.edit"));
  await fill(user, t("webhooks.fields.url"), "https://hooks.example.com/new");
  await click(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.bodies("patchWebhook")).toMatchObject([
    { description: "Kept for a year", name: "Archive" },
    { url: "https://hooks.example.com/new" },
  ]);
  expect(mockApi.bodies("patchWebhook")[0]).not.toHaveProperty("url");
});

test("an edit that takes the URL of another person's edit does not send the URL", async () => {
  const id = newId();
  let webhook = sample("Webhook", { id, name: "Archive", url: "https://hooks.example.com/in" });
  mockApi.answer("get", "/tenants/webhooks/{id}", () => webhook);
  const user = openConsole(`/webhooks/${id}`);
  await click(user, t("common.edit"));
  await fill(user, t("common.description"), "Kept for a year");
  webhook = { ...webhook, url: "https://hooks.example.com/new" };
  mockApi.answer("patch", "/tenants/webhooks/{id}", () =>
    mockApi.received("patchWebhook").length === 1 ? problem("precondition_failed") : webhook,
  );
  await click(user, t("common.save"));
  await screen.findByText(t("records.conflict.title"));
  await click(user, t("records.conflict.save"));
  await waitForDialogToClose();
  const sent = mockApi.bodies("patchWebhook").at(-1);
  expect(sent).toMatchObject({ description: "Kept for a year" });
  expect(sent).not.toHaveProperty("url");
});

test("a new webhook waits for the person's confirmation", async () => {
  mockApi.signInPerson(permissions);
  mockApi.acceptRecoveryCodes("next-recovery-code");
  mockApi.answer("post", "/tenants/webhooks", () =>
    mockApi.received("createWebhook").length === 1
      ? problem("recent_authentication_required")
      : sample("NewWebhook", { id: newId(), secret: "whsec_c2VjcmV0" }),
  );
  const user = openConsole("/webhooks?new=1");
  await fill(user, t("webhooks.fields.url"), "https://hooks.example.com/in");
  await click(user, t("common.create"));
  await click(user, t("signIn.page.recovery"));
  await fill(user, t("signIn.page.recoveryCode"), "code");
  await click(user, t("signIn.stepUp.confirmWithCode"));
  await click(user, t("signIn.page.saved"));
  await screen.findByText("whsec_c2VjcmV0");
  await waitFor(() => expect(mockApi.received("createWebhook")).toHaveLength(2));
});
