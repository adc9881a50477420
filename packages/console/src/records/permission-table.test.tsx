import { screen, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

const nonexistent = t("records.permissions.nonexistent");

async function marksOf(row: string): Promise<readonly string[]> {
  const header = await screen.findByRole("rowheader", { name: new RegExp(`^${row}`) });
  const marks = within(header.closest("tr") ?? header).getAllByRole("img");
  return marks.map((mark) => mark.getAttribute("aria-label") ?? "");
}

test.each([
  ["ADMIN", t("records.permissions.nouns.users"), [t("common.yes"), t("common.yes")]],
  ["ADMIN", t("records.permissions.events"), [t("common.yes"), nonexistent]],
  ["AUDITOR", t("records.permissions.nouns.users"), [t("common.yes"), t("common.no")]],
  ["AUDITOR", t("records.permissions.gatewayTokens"), [t("common.no"), nonexistent]],
] as const)("the role %s has its own mark for each state of: %s", async (type, row, expected) => {
  const role = sample("Role", { id: newId(), type, name: type });
  mockApi.answer("get", "/tenants/roles/{id}", role);
  openConsole(`/roles/${role.id}`);
  expect(await marksOf(row)).toEqual(expected);
});
