import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { findTitle, openConsole } from "../testing/console-page.tsx";
import { mockApi, problem } from "../testing/mock-api.ts";
import { newId } from "../testing/sample.ts";

test("a record that does not exist leads back to its list, and offers no attempt to repeat", async () => {
  mockApi.answer("get", "/tenants/users/{id}", () => problem("not_found"));
  openConsole(`/users/${newId()}`);
  await findTitle(t("records.notFound.titles.users"));
  screen.getByRole("link", { name: t("records.notFound.back", { list: t("users.title") }) });
  expect(screen.queryByRole("button", { name: t("app.problem.retry") })).toBeNull();
  expect(document.title).toBe(t("common.documentTitle", { title: t("records.notFound.titles.users") }));
});
