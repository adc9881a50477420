import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { newId, pageOf, sample } from "../testing/sample.ts";

test("the action of a policy follows its name, also in a narrow panel, which shows the cells in their order", async () => {
  const group = sample("Group", { id: newId(), name: "Sales" });
  const policy = sample("Policy", {
    id: newId(),
    name: "Office systems",
    action: false,
    active: true,
    allGroups: true,
  });
  mockApi.answer("get", "/tenants/groups/{id}", group);
  mockApi.answer("get", "/tenants/policies", ({ query }) =>
    pageOf(query["filter[type]"] === "PRIVATE" ? [policy] : []),
  );
  openConsole(`/groups/${group.id}?tab=access`);
  const cells = (await screen.findByRole("row", { name: /Office systems/ })).querySelectorAll("td");
  expect([...cells].slice(0, 3).map(({ textContent }) => textContent)).toEqual([
    "Office systems",
    t("policies.actions.deny"),
    t("policies.fields.allGroups"),
  ]);
});
