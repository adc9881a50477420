import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { findPanel, findTitle, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";
import { formatNamedTarget } from "./format-target.ts";

test("the filter for operations takes the words that the list shows", async () => {
  openConsole("/events?operation=Updated+policy");
  await waitFor(() =>
    expect(mockApi.received("listEvents")[0]?.query).toMatchObject({ "filter[operation][ilike]": "%updatepolicy%" }),
  );
});

test("a changed list shows each of its items in a chip, before and after the change", async () => {
  const [sales, internal, support, people] = [
    { id: newId(), name: "Sales" },
    { id: newId(), name: "Internal" },
    { id: newId(), name: "Support" },
    { id: newId(), name: "People" },
  ];
  const event = sample("Event", {
    operation: "updatePolicy",
    before: { groups: [sales, internal, people] },
    after: { groups: [support, people] },
  });
  mockApi.answer("get", "/tenants/events", pageOf([event]));
  openConsole(`/events/${event.id}`);
  const row = await screen.findByRole("row", { name: /^Groups/ });
  const [before, after] = [...row.querySelectorAll("td")].map(({ textContent }) => textContent);
  expect(before).toContain(`People ${t("records.changes.removed")} − Sales − Internal`);
  expect(after).toContain(`People ${t("records.changes.added")} + Support`);
  const chips = [...row.querySelectorAll(".value")].map(({ textContent }) => textContent);
  expect(chips).toEqual(["People", "− Sales", "− Internal", "People", "+ Support"]);
});

test("a changed rule is in words and as text", async () => {
  const event = sample("Event", {
    operation: "updateAdmissionRule",
    before: { rule: "device.posture.diskEncrypted == true" },
    after: { rule: 'user.email.endsWith("@example.com")' },
  });
  mockApi.answer("get", "/tenants/events", pageOf([event]));
  openConsole(`/events/${event.id}`);
  const row = await screen.findByRole("row", { name: /^Rule/ });
  expect(row.textContent).toContain("Disk encrypted");
  expect(row.textContent).toContain("device.posture.diskEncrypted == true");
  expect(row.textContent).toContain('user.email.endsWith("@example.com")');
});

test("a name that begins with its type is not doubled", () => {
  const target = (name: string) => ({ type: "admission-rule", id: "1", name });
  expect(formatNamedTarget(target("Admission rule for Wiki"))).toBe("“Admission rule for Wiki”");
  expect(formatNamedTarget(target("Office hours"))).toBe("Admission rule “Office hours”");
  expect(formatNamedTarget(target("Office hours"), true)).toBe("admission rule “Office hours”");
  expect(formatNamedTarget({ type: "tenant-settings", id: "1" }, true)).toBe("settings");
  expect(formatNamedTarget({ type: "api-key", id: "1", name: "CI" }, true)).toBe("API key “CI”");
});

test("the period of the list is a choice, and a time for the server", async () => {
  openConsole("/events?period=week");
  await waitFor(() => expect(mockApi.received("listEvents")).toHaveLength(1));
  const since = Date.parse(mockApi.received("listEvents")[0]?.query["filter[createdAt][gte]"] ?? "");
  const days = (Date.now() - since) / 86_400_000;
  expect(days).toBeGreaterThanOrEqual(7);
  expect(days).toBeLessThan(7.01);
});

test("marks the order of the list, the newest events first", async () => {
  mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { id: newId() })]));
  openConsole("/events");
  const header = await screen.findByRole("columnheader", {
    name: t("events.fields.timeIn", { zone: formatOwnZone() }),
  });
  expect(header.getAttribute("aria-sort")).toBe("descending");
});

describe("the actor of an event", () => {
  const actor = (type: "user" | "api-key" | "operator", name: string) => {
    const event = sample("Event", { id: newId(), actor: { type, id: newId(), name } });
    mockApi.answer("get", "/tenants/events", pageOf([event]));
    return event.id;
  };

  test("is the person who was signed in", async () => {
    openConsole(`/events/${actor("user", "ann@example.com")}`);
    const panel = await findPanel(t("common.about"));
    const shown = panel.getByText(t("events.fields.actor")).parentElement?.textContent;
    expect(shown).toContain("ann@example.com");
    expect(shown).not.toContain(t("events.actors.apiKey"));
    const link = panel.getByRole("link", { name: "ann@example.com" });
    expect(link.getAttribute("href")).toMatch(/^\/console\/users\//);
  });

  test("is distinguishable from a key of the same name in the list", async () => {
    actor("api-key", "ann@example.com");
    openConsole("/events");
    await screen.findByRole("cell", { name: "ann@example.com (API key)" });
  });

  test("is named once if it is the operator", async () => {
    actor("operator", t("events.actors.operator"));
    openConsole("/events");
    await screen.findByRole("cell", { name: t("events.actors.operator") });
  });

  test("can be filtered by user", async () => {
    openConsole("/events?actor.type=user");
    await waitFor(() =>
      expect(mockApi.received("listEvents")[0]?.query).toMatchObject({ "filter[actor.type]": "user" }),
    );
    expect(await screen.findByRole("combobox", { name: t("events.fields.actorType") })).toHaveProperty(
      "value",
      t("events.actors.user"),
    );
  });
});

test("a revert is recognizable in the list", async () => {
  const event = sample("Event", { id: newId(), operation: "updatePolicy", reverts: newId() });
  mockApi.answer("get", "/tenants/events", pageOf([event]));
  openConsole("/events");
  await screen.findByRole("link", { name: "Updated policy (revert)" });
});

test("the history of a policy contains the changes of its conditions", async () => {
  const [id, rule] = [newId(), newId()];
  const policy = sample("Policy", { id, name: "Staff", rule: sample("AdmissionRule", { id: rule }) });
  mockApi.answer("get", "/tenants/policies/{id}", policy);
  const user = openConsole(`/policies/${id}`);
  await user.click(await screen.findByRole("link", { name: t("records.links.history") }));
  await waitFor(() =>
    expect(mockApi.received("listEvents").map(({ query }) => query["filter[target.id][in]"])).toContain(
      `${id},${rule}`,
    ),
  );
});

describe("the history of a record", () => {
  const target = { type: "group", id: newId(), name: "Sales" };

  test("names the record in its title, and leads back to it", async () => {
    mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { id: newId(), target, after: {} })]));
    openConsole(`/events?target.id=${target.id},${newId()}`);
    await findTitle(t("events.historyOf", { name: "Sales" }));
    const link = await screen.findByRole("link", { name: "Sales" });
    // The title states the only filter.
    await screen.findByRole("button", { name: t("lists.moreFilters") });
    expect(link.getAttribute("href")).toBe(`/console/groups/${target.id}`);
    expect(mockApi.received("listEvents").map(({ query }) => query["filter[target.id]"])).toContain(target.id);
  });

  test("does not link to a deleted record", async () => {
    mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { id: newId(), target, before: {} })]));
    openConsole(`/events?target.id=${target.id}`);
    await findTitle(t("events.historyOf", { name: "Sales" }));
    expect(screen.queryByRole("link", { name: "Sales" })).toBeNull();
  });
});
