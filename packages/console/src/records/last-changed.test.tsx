import { screen, waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { newId, pageOf, sample } from "../testing/sample.ts";

const policy = sample("Policy", { id: newId(), name: "Books", updatedAt: "2026-03-02T09:00:00.120Z" });
const event = sample("Event", {
  id: newId(),
  createdAt: "2026-03-02T09:00:00.120Z",
  actor: { type: "user", name: "ann@example.com" },
});

test("the page of a policy says by whom it was last changed, and leads to the event", async () => {
  mockApi.answer("get", "/tenants/policies/{id}", policy);
  mockApi.answer("get", "/tenants/events", pageOf([event]));
  openConsole(`/policies/${policy.id}`);
  const actor = await screen.findByRole("link", { name: "ann@example.com" });
  expect(actor.getAttribute("href")).toBe(`/console/events/${event.id}`);
  expect(mockApi.received("listEvents")[0]?.query).toEqual({
    "filter[target.id]": policy.id,
    sort: "-position",
    limit: "1",
  });
});

test("an event of another time is not the last change of the record", async () => {
  mockApi.answer("get", "/tenants/policies/{id}", policy);
  mockApi.answer("get", "/tenants/events", pageOf([{ ...event, createdAt: "2026-03-05T09:00:00.120Z" }]));
  openConsole(`/policies/${policy.id}`);
  await waitFor(() => expect(mockApi.received("listEvents")).not.toEqual([]));
  await mockApi.settled();
  expect(screen.queryByRole("link", { name: "ann@example.com" })).toBeNull();
});
