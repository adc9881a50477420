import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("an effect that is being computed is announced, and read again until it is complete", async () => {
  const id = newId();
  const target = { type: "policy", id: newId(), name: "Everyone" };
  mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { id, operation: "createPolicy", target })]));
  const counts = { users: 0, devices: 0, sites: 0, resources: 0, internet: false, pairs: 0 };
  const effect = { event: id, gained: counts, lost: counts, groupCount: 0, groups: [], brokenTests: [] };
  let requests = 0;
  mockApi.answer("get", "/tenants/events/{id}/effect", () => {
    requests += 1;
    return sample("EventEffect", { ...effect, pending: requests === 1 });
  });
  openConsole(`/events/${id}`);
  await screen.findByText(t("events.effect.pending"));
  await screen.findByText(t("records.effect.made.none"), undefined, { timeout: 10_000 });
  expect(screen.queryByText(t("events.effect.pending"))).toBeNull();
});
