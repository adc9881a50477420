import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  click,
  currentPath,
  findDialog,
  findTitle,
  openConsole,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const id = newId();
const groupId = newId();
const target = { type: "group", id: groupId, name: "Staff" };
const event = sample("Event", { id, operation: "updateGroup", target });
const later = newId();
const change = { method: "PUT", path: `/tenants/groups/${groupId}`, body: { description: "Old" } } as const;
const record = { target, before: { description: "New" }, after: { description: "Old" } };

const preview = (given: object = {}) =>
  sample("Revert", {
    event: id,
    preview: true,
    scope: "event",
    requestEvents: 1,
    moreUndone: false,
    generation: 7,
    changes: [change],
    records: [record],
    recordCount: 1,
    undoes: [],
    cannot: [],
    access: sample("AccessPreview"),
    ...given,
  });

async function openPreview(given: object = {}) {
  mockApi.answer("get", "/tenants/events", pageOf([event]));
  mockApi.answer("post", "/tenants/events/{id}/revert", ({ query }) =>
    query.preview === "true" ? preview(given) : preview({ preview: false, access: undefined, ...given }),
  );
  const user = openConsole(`/events/${id}`);
  await click(user, t("events.revert.preview"));
  await findDialog();
  return user;
}

describe("the revert of an event", () => {
  test("shows its preview, and is performed for the previewed generation", async () => {
    const user = await openPreview({
      undoes: [{ ...sample("UndoneEvent"), id: later, operation: "updateGroup", fields: ["description"] }],
    });
    await screen.findByRole("cell", { name: "Old" });
    await screen.findByText(t("events.revert.undoes"));
    expect(screen.getByRole("link", { name: "Updated group" }).getAttribute("href")).toBe(`/console/events/${later}`);
    expect(mockApi.received("revertEvent")).toMatchObject([{ query: { preview: "true" }, ifMatch: null }]);
    await click(user, t("events.revert.label"));
    await waitForDialogToClose();
    expect(mockApi.received("revertEvent").at(-1)).toMatchObject({ query: {}, ifMatch: '"7"' });
  });

  test("opens the record that it created again", async () => {
    const created = newId();
    mockApi.answer("get", "/tenants/groups/{id}", sample("Group", { id: created, name: "Staff" }));
    const user = await openPreview({ recreated: { type: "group", formerId: groupId, id: created } });
    await screen.findByText(t("events.revert.newId"));
    await click(user, t("events.revert.label"));
    await findTitle("Staff");
    expect(currentPath()).toBe(`/groups/${created}`);
  });

  test("offers no revert if nothing can be restored, and gives the reasons", async () => {
    await openPreview({
      changes: [],
      records: [],
      recordCount: 0,
      cannot: [{ code: "part_of_deletion", message: "The event is part of a deletion.", event: later }],
    });
    const dialog = await findDialog();
    await dialog.findByText(/The event is part of a deletion/);
    expect(dialog.getByRole("link").getAttribute("href")).toBe(`/console/events/${later}`);
    expect(dialog.queryByRole("button", { name: t("events.revert.label") })).toBeNull();
  });

  test("shows why the API would reject it", async () => {
    await openPreview({ refused: { code: "name_taken", detail: "The name Staff is taken." }, access: undefined });
    await screen.findByText("The name Staff is taken.");
    expect(screen.queryByRole("button", { name: t("events.revert.label") })).toBeNull();
  });

  test("is previewed again if the tenant has changed since", async () => {
    const user = await openPreview();
    await screen.findByRole("cell", { name: "Old" });
    mockApi.answer("post", "/tenants/events/{id}/revert", ({ query }) =>
      query.preview === "true"
        ? preview({ generation: 8, records: [{ ...record, before: { description: "Newer" } }] })
        : problem("precondition_failed"),
    );
    await click(user, t("events.revert.label"));
    await screen.findByText(t("events.revert.overtaken.title"));
    await screen.findByRole("cell", { name: "Newer" });
  });

  test("is not offered to keys that cannot write", async () => {
    mockApi.signIn(["events:read"]);
    mockApi.answer("get", "/tenants/events", pageOf([event]));
    openConsole(`/events/${id}`);
    await screen.findByRole("region", { name: t("events.beforeAndAfter") });
    expect(screen.queryByRole("button", { name: t("events.revert.preview") })).toBeNull();
  });

  test("of a request with several events says that it is partial, and offers all of them", async () => {
    const user = await openPreview({ requestEvents: 3 });
    await screen.findByText(t("events.revert.ofRequest", { count: 3 }));
    mockApi.answer("post", "/tenants/events/{id}/revert", ({ query }) =>
      preview({ requestEvents: 3, ...query, preview: query.preview === "true" }),
    );
    await user.click(screen.getByRole("checkbox", { name: t("events.revert.all", { count: 3 }) }));
    await waitFor(() => expect(screen.queryByText(t("events.revert.ofRequest", { count: 3 }))).toBeNull());
    expect(mockApi.received("revertEvent").at(-1)).toMatchObject({ query: { preview: "true", scope: "request" } });
    await click(user, t("events.revert.label"));
    await waitForDialogToClose();
    expect(mockApi.received("revertEvent").at(-1)).toMatchObject({ query: { scope: "request" }, ifMatch: '"7"' });
  });
});

test("the page of an event of a revert links to the reverted event", async () => {
  mockApi.answer("get", "/tenants/events", pageOf([{ ...event, reverts: later }]));
  openConsole(`/events/${id}`);
  const link = await screen.findByRole("link", { name: t("events.reverted") });
  expect(link.getAttribute("href")).toBe(`/console/events/${later}`);
});

test("the page of a reverted event says that it was reverted, and by which event", async () => {
  const revert = sample("Event", { id: later, operation: "updatePolicy", reverts: id });
  mockApi.answer("get", "/tenants/events", ({ query }) => pageOf(query["filter[reverts]"] === id ? [revert] : [event]));
  openConsole(`/events/${id}`);
  const link = await screen.findByRole("link", { name: "Updated policy (revert)" });
  expect(link.getAttribute("href")).toBe(`/console/events/${later}`);
  screen.getByText(t("events.revert.already"));
});
