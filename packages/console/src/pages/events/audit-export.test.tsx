import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findDialog, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";

test("exports what is filtered, and shows how to verify the file", async () => {
  mockApi.answer("get", "/tenants/events/signing-key", { algorithm: "Ed25519", publicKey: "a2V5" });
  const user = openConsole("/events?target.type=policy");
  await click(user, t("events.export.label"));
  const dialog = await findDialog(t("events.export.title"));
  await dialog.findByText(t("events.export.filtered"));
  const href = (name: string) => screen.getByRole("link", { name }).getAttribute("href");
  expect(href(t("events.export.ndjson"))).toBe("/tenants/events/export?filter%5Btarget.type%5D=policy&format=ndjson");
  expect(href(t("events.export.csv"))).toBe("/tenants/events/export?filter%5Btarget.type%5D=policy&format=csv");
  // The server names the file in the same way.
  const file = `audit-${new Date().toISOString().slice(0, 10)}.ndjson`;
  await dialog.findByText(`gatehouse audit verify --file ${file} --public-key a2V5`);
});
