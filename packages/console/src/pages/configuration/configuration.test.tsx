import { screen, waitFor, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, fill, findDialog, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { sample } from "../../testing/sample.ts";

const plan = sample("ConfigurationPlan", {
  generation: 41,
  summary: { created: 1, updated: 1, deleted: 1 },
  changes: [
    { action: "create", kind: "group", name: "Sales", fields: [] },
    {
      action: "update",
      kind: "policy",
      policyType: "PRIVATE",
      name: "Wiki",
      fields: [
        { field: "description", before: "Old", after: "New" },
        { field: "groups", added: ["Sales"], removed: ["Support"] },
      ],
    },
    { action: "delete", kind: "group", name: "Support", fields: [] },
  ],
});

test("plans a document, draws the difference, and applies exactly what was planned", async () => {
  mockApi.answer("post", "/tenants/configuration/plan", plan);
  mockApi.answer("post", "/tenants/configuration/apply", plan);
  const user = openConsole("/configuration");
  await fill(user, t("configuration.apply.document"), '{ "version": 1, "groups": [{ "name": "Sales" }] }');
  await click(user, t("configuration.apply.plan"));
  const table = within(await screen.findByRole("table", { name: t("configuration.apply.difference") }));
  const rows = table.getAllByRole("row").map(({ textContent }) => textContent);
  expect(rows[1]).toContain("Sales");
  expect(rows[2]).toMatch(/Wiki.*description.*− .*Old.*\+ .*New.*groups.*− .*Support.*\+ .*Sales/);
  expect(rows[3]).toContain("Support");
  await click(user, t("configuration.apply.apply"));
  await findDialog(t("configuration.apply.confirm"));
  expect(mockApi.writes()).toEqual([]);
  await click(user, t("configuration.apply.apply"));
  await waitForDialogToClose();
  expect(mockApi.received("applyConfiguration")).toMatchObject([
    { body: { version: 1, groups: [{ name: "Sales" }] }, ifMatch: '"41"' },
  ]);
});

test("says what a plan does before it warns", async () => {
  openConsole("/configuration");
  const intro = await screen.findByText(t("configuration.apply.intro"));
  const warning = screen.getByText(t("configuration.apply.text"));
  expect(intro.compareDocumentPosition(warning) & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
});

test("a plan of another text is not applied", async () => {
  mockApi.answer("post", "/tenants/configuration/plan", plan);
  const user = openConsole("/configuration");
  await fill(user, t("configuration.apply.document"), '{ "version": 1 }');
  await click(user, t("configuration.apply.plan"));
  await screen.findByRole("table", { name: t("configuration.apply.difference") });
  await fill(user, t("configuration.apply.document"), '{ "version": 1, "users": [] }');
  await waitFor(() => expect(screen.queryByRole("button", { name: t("configuration.apply.apply") })).toBeNull());
});

test.each([
  ["groups: []", /JSON/],
  ["[1]", /object/],
])("reports that %s is not a document, without asking the server", async (text, reason) => {
  const user = openConsole("/configuration");
  await fill(user, t("configuration.apply.document"), text);
  await click(user, t("configuration.apply.plan"));
  await screen.findByText(reason, { selector: "[class*=error]" });
  expect(mockApi.received("planConfiguration")).toEqual([]);
});
