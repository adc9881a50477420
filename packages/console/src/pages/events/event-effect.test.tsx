import { screen } from "@testing-library/dom";
import { expect, test, vi } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const target = { type: "policy", id: newId(), name: "Everyone" };

test("an effect can name several devices with the same name, in a table with explicit roles", async () => {
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const id = newId();
  mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { id, operation: "createPolicy", target })]));
  const subjects = [1, 2].map(() => ({ kind: "device" as const, id: newId(), name: "Kiosk" }));
  const resources = [{ id: newId(), name: "Wiki" }];
  const group = { change: "gained" as const, before: "never" as const, after: "always" as const, internet: false };
  const lost = { users: 0, devices: 0, sites: 0, resources: 0, internet: false, pairs: 0 };
  mockApi.answer(
    "get",
    "/tenants/events/{id}/effect",
    sample("EventEffect", {
      event: id,
      gained: { ...lost, devices: 2, resources: 1, pairs: 2 },
      lost,
      groupCount: 1,
      groups: [{ ...group, subjects, subjectCount: 2, resources, resourceCount: 1 }],
      brokenTests: [],
    }),
  );
  openConsole(`/events/${id}`);
  expect((await screen.findAllByText("Kiosk")).map((name) => name.closest("a")?.pathname)).toEqual(
    subjects.map((subject) => expect.stringContaining(`/devices/${subject.id}`)),
  );
  expect(screen.getByRole("link", { name: "Wiki" }).getAttribute("href")).toContain(`/resources/${resources[0]?.id}`);
  expect(errors.mock.calls.flat().filter((text) => String(text).includes("key"))).toEqual([]);
  errors.mockRestore();
  // Browsers drop the roles of tables that are shown as blocks.
  const table = screen.getByRole("table", { name: t("records.effect.region") });
  const roles = [table, ...table.querySelectorAll("*")].flatMap((element) => element.getAttribute("role") ?? []);
  const row = ["row", "cell", "cell", "cell"];
  const head = ["rowgroup", "row", "columnheader", "columnheader", "columnheader"];
  expect(roles).toEqual(["table", ...head, "rowgroup", ...row]);
});

test.each([
  ["a user without a device", "user", 1],
  ["devices only", "device", 0],
] as const)("an effect on %s explains access without a device if it names it", async (_name, kind, notes) => {
  const id = newId();
  mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { id, operation: "createPolicy", target })]));
  const lost = { users: 0, devices: 0, sites: 0, resources: 0, internet: false, pairs: 0 };
  const subjects = [{ kind, id: newId(), name: "ann@example.com" }];
  const resources = [{ id: newId(), name: "Wiki" }];
  const group = { change: "gained", before: "never", after: "always", internet: false } as const;
  mockApi.answer(
    "get",
    "/tenants/events/{id}/effect",
    sample("EventEffect", {
      event: id,
      gained: { ...lost, users: 1, resources: 1, pairs: 1 },
      lost,
      groupCount: 1,
      groups: [{ ...group, subjects, subjectCount: 1, resources, resourceCount: 1 }],
      brokenTests: [],
    }),
  );
  openConsole(`/events/${id}`);
  await screen.findByRole("table", { name: t("records.effect.region") });
  expect(screen.queryAllByText(t("records.effect.withoutDeviceNote"))).toHaveLength(notes);
});

test("an effect that is being computed is announced, and read again until it is complete", async () => {
  const id = newId();
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
