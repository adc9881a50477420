import { screen, waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("the filter for operations takes the words that the list shows", async () => {
  openConsole("/events?operation=Update+policy");
  await waitFor(() =>
    expect(mockApi.received("listEvents")[0]?.query).toMatchObject({ "filter[operation][ilike]": "%Updatepolicy%" }),
  );
});

test("a changed list shows removed and added items as one change", async () => {
  const [sales, support] = [
    { id: newId(), name: "Sales" },
    { id: newId(), name: "Support" },
  ];
  const event = sample("Event", {
    operation: "updatePolicy",
    before: { groups: [sales] },
    after: { groups: [support] },
  });
  mockApi.answer("get", "/tenants/events", pageOf([event]));
  openConsole(`/events/${event.id}`);
  const row = await screen.findByRole("row", { name: /^Groups/ });
  expect(row.querySelectorAll("td")).toHaveLength(1);
  expect(row.textContent).toContain(`− ${t("events.changes.removed")} Sales`);
  expect(row.textContent).toContain(`+ ${t("events.changes.added")} Support`);
});

test("the period of the list is a choice, and a time for the server", async () => {
  openConsole("/events?period=week");
  await waitFor(() => expect(mockApi.received("listEvents")).toHaveLength(1));
  const since = Date.parse(mockApi.received("listEvents")[0]?.query["filter[createdAt][gte]"] ?? "");
  const days = (Date.now() - since) / 86_400_000;
  expect(days).toBeGreaterThanOrEqual(7);
  expect(days).toBeLessThan(7.01);
});
