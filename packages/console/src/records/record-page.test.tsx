import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { capitalize } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { findTitle, openConsole } from "../testing/console-page.tsx";
import { mockApi, problem } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

test("a record that does not exist leads back to its list, and offers no attempt to repeat", async () => {
  mockApi.answer("get", "/tenants/users/{id}", () => problem("not_found"));
  openConsole(`/users/${newId()}`);
  const title = capitalize(t("records.notFound.title", { kind: t("records.notFound.kinds.users") }));
  await findTitle(title);
  screen.getByRole("link", { name: t("records.notFound.back", { list: t("users.title") }) });
  expect(screen.queryByRole("button", { name: t("app.problem.retry") })).toBeNull();
  expect(document.title).toBe(t("common.documentTitle", { title }));
  screen.getByText(t("records.notFound.text", { kind: t("records.notFound.kinds.users") }));
});

test("the times of creation and of the last change begin a row together", async () => {
  mockApi.answer("get", "/tenants/webhooks/{id}", sample("Webhook", { id: newId() }));
  openConsole(`/webhooks/${newId()}`);
  const created = await screen.findByText(t("common.created"), { selector: "dt" });
  expect(created.parentElement?.hasAttribute("data-starts-row")).toBe(true);
  expect(document.querySelectorAll("[data-starts-row]")).toHaveLength(1);
});
