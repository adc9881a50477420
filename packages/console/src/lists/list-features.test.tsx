/** Selection, export, columns, filters and the side panel of lists. */
import { screen, waitFor, within } from "@testing-library/dom";
import type { UserEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { t } from "../messages/i18n.ts";
import {
  choose,
  click,
  currentPath,
  fill,
  findDialog,
  openConsole,
  waitForDialogToClose,
} from "../testing/console-page.tsx";
import { mockApi, problem } from "../testing/mock-api.ts";
import { newId, pageOf, sample } from "../testing/sample.ts";

const devices = Array.from({ length: 250 }, (_, index) =>
  sample("Device", { id: newId(), name: `Laptop ${index + 1}`, active: true }),
);

/** Answers like the server: a page of the devices. */
function answerDevices(): void {
  mockApi.answer("get", "/tenants/devices", ({ query }) => {
    const [limit, offset] = [Number(query.limit ?? 10), Number(query.offset ?? 0)];
    return { ...pageOf(devices.slice(offset, offset + limit), devices.length), limit };
  });
}

async function select(user: UserEvent, name: string): Promise<void> {
  await user.click(await screen.findByRole("checkbox", { name: t("lists.select.row", { name }) }));
}

afterEach(() => vi.restoreAllMocks());

beforeEach(() => {
  localStorage.clear();
  answerDevices();
});

/** Every device was last changed by the change set that names it. */
function answerEvents(): void {
  mockApi.answer("get", "/tenants/events", ({ query }) => {
    const target = { type: "device", id: query["filter[target.id]"] ?? "" };
    const set = mockApi.received("applyChanges").findLast(({ body }) => JSON.stringify(body).includes(target.id));
    return pageOf([sample("Event", { id: newId(), operation: "deactivateDevice", target, requestId: set?.id ?? "" })]);
  });
}

/** Deactivates all devices, after the review. */
async function deactivateAll(user: UserEvent): Promise<void> {
  await select(user, "Laptop 1");
  await click(user, t("lists.select.all", { count: 250, noun: t("devices.noun") }));
  await screen.findByText(t("lists.select.count", { count: 250 }));
  await click(user, t("devices.deactivate.label"));
  await findDialog(/250/);
  await click(user, t("devices.deactivate.label"));
}

describe("selected rows", () => {
  test("are changed together, after one preview, in sets of 100", async () => {
    const user = openConsole("/devices");
    await select(user, "Laptop 1");
    await screen.findByText(t("lists.select.count", { count: 1 }));
    await click(user, t("lists.select.all", { count: 250, noun: t("devices.noun") }));
    await screen.findByText(t("lists.select.count", { count: 250 }));
    await click(user, t("devices.deactivate.label"));
    const dialog = await findDialog(/250/);
    await dialog.findByText(t("lists.bulk.sets", { count: 3, size: 100 }));
    await waitFor(() => expect(mockApi.received("previewAccess")).toHaveLength(1));
    expect((mockApi.bodies("previewAccess")[0] as { changes: unknown[] }).changes).toHaveLength(250);
    expect(mockApi.writes()).toEqual([]);
    await click(user, t("devices.deactivate.label"));
    await waitFor(() => expect(mockApi.received("applyChanges")).toHaveLength(3));
    await waitFor(() => expect(screen.queryByText(t("lists.select.count", { count: 250 }))).toBeNull());
  });

  test("are reverted by Undo in the notice, request by request and the last one first", async () => {
    const user = openConsole("/devices");
    answerEvents();
    await deactivateAll(user);
    await screen.findByText(t("lists.bulk.made", { count: 250 }));
    await waitForDialogToClose();
    await click(user, t("records.undo.label"));
    await screen.findByText(t("records.undo.done"));
    const targets = mockApi.received("listEvents").map(({ query }) => query["filter[target.id]"]);
    // The last change of each set.
    expect(targets.slice(-3)).toEqual([devices[99]?.id, devices[199]?.id, devices[249]?.id]);
    expect(mockApi.received("revertEvent").map(({ query }) => query.scope)).toEqual(["request", "request", "request"]);
  });

  test("show how many changes were undone if Undo stops", async () => {
    const user = openConsole("/devices");
    answerEvents();
    mockApi.answer("post", "/tenants/events/{id}/revert", () =>
      mockApi.received("revertEvent").length === 3 ? problem("not_revertible") : sample("Revert"),
    );
    await deactivateAll(user);
    await waitForDialogToClose();
    await click(user, t("records.undo.label"));
    // The sets of 50 and of 100 devices.
    await screen.findByText(t("records.undo.stopped", { undone: 150, total: 250 }));
    expect(screen.queryByText(t("records.undo.done"))).toBeNull();
  });

  test("can be reverted if only the first sets were changed", async () => {
    const result = sample("ChangeSetResult", { generation: 1, changes: [] });
    const refusal = problem("invalid_body", { errors: [{ pointer: "/changes/2", message: "x" }] });
    mockApi.answer("post", "/tenants/changes", () =>
      mockApi.received("applyChanges").length === 3 ? refusal : result,
    );
    const user = openConsole("/devices");
    answerEvents();
    await deactivateAll(user);
    await screen.findByText(t("lists.bulk.stopped", { made: 200, total: 250 }));
    expect(mockApi.received("revertEvent")).toEqual([]);
    await user.keyboard("{Escape}");
    await waitForDialogToClose();
    await click(user, t("records.undo.label"));
    await screen.findByText(t("records.undo.done"));
    expect(mockApi.received("revertEvent")).toHaveLength(2);
  });

  test("are named in the title if there is only one", async () => {
    const user = openConsole("/devices");
    await select(user, "Laptop 1");
    await click(user, t("devices.deactivate.label"));
    await findDialog(t("lists.bulk.titleOne", { action: t("devices.deactivate.label"), name: "Laptop 1" }));
  });

  test("that need no change are named, and the title does not count them", async () => {
    const some = devices.slice(0, 3).map((device, index) => ({ ...device, active: index !== 1 }));
    mockApi.answer("get", "/tenants/devices", pageOf(some));
    const user = openConsole("/devices");
    for (const { name } of some) await select(user, name);
    await click(user, t("devices.deactivate.label"));
    const values = { action: t("devices.deactivate.label"), count: 2, noun: t("devices.noun") };
    const dialog = await findDialog(t("lists.bulk.title", values));
    dialog.getByText(t("lists.bulk.unchanged", { count: 1, names: "Laptop 2" }));
  });

  test("show what was changed if a set is refused, and continue without the refused record", async () => {
    const result = sample("ChangeSetResult", { generation: 1, changes: [] });
    const refusal = problem("invalid_body", { errors: [{ pointer: "/changes/2", message: "x" }] });
    mockApi.answer("post", "/tenants/changes", () =>
      mockApi.received("applyChanges").length === 2 ? refusal : result,
    );
    const user = openConsole("/devices");
    await select(user, "Laptop 1");
    await click(user, t("lists.select.all", { count: 250, noun: t("devices.noun") }));
    await screen.findByText(t("lists.select.count", { count: 250 }));
    await click(user, t("common.delete"));
    await findDialog();
    await click(user, t("common.delete"));
    await screen.findByText(t("lists.bulk.stopped", { made: 100, total: 250 }));
    await click(user, t("lists.bulk.skip", { name: "Laptop 103" }));
    await waitFor(() => expect(mockApi.received("previewAccess")).toHaveLength(2));
    await click(user, t("common.delete"));
    await waitFor(() => expect(mockApi.received("applyChanges")).toHaveLength(4));
    const sent = mockApi.bodies("applyChanges").flatMap((body) => (body as { changes: { path: string }[] }).changes);
    // The refused set is sent again without the record.
    expect(new Set(sent.map(({ path }) => path)).size).toBe(250);
    expect(sent).toHaveLength(100 + 100 + 100 + 49);
  });

  test("ask for a reason if access tests block a later set, and send only what is left", async () => {
    const result = sample("ChangeSetResult", { generation: 1, changes: [] });
    const blocked = problem("access_tests_broken", {
      errors: [{ pointer: "/", message: "Contractors never reach Payroll" }],
    });
    mockApi.answer("post", "/tenants/changes", ({ overrideReason }) =>
      overrideReason === null && mockApi.received("applyChanges").length === 2 ? blocked : result,
    );
    const user = openConsole("/devices");
    await select(user, "Laptop 1");
    await click(user, t("lists.select.all", { count: 250, noun: t("devices.noun") }));
    await screen.findByText(t("lists.select.count", { count: 250 }));
    await click(user, t("common.delete"));
    await findDialog();
    await click(user, t("common.delete"));
    await fill(user, new RegExp(t("records.review.overrideReason")), "Migration");
    await click(user, t("records.review.override"));
    await waitFor(() => expect(mockApi.received("applyChanges")).toHaveLength(4));
    const [, , ...overridden] = mockApi.received("applyChanges");
    const sizes = overridden.map(({ body }) => (body as { changes: unknown[] }).changes.length);
    expect(sizes).toEqual([100, 50]);
    expect(overridden.map(({ overrideReason }) => overrideReason)).toEqual(["Migration", "Migration"]);
  });

  test("have their actions after the table, and clearing them keeps the focus in it", async () => {
    const user = openConsole("/devices");
    await select(user, "Laptop 1");
    const bar = await screen.findByRole("region", { name: t("lists.select.bar") });
    const table = screen.getByRole("table");
    expect(table.compareDocumentPosition(bar) & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
    await click(user, t("lists.select.clear"));
    expect(document.activeElement).toBe(screen.getByRole("checkbox", { name: t("lists.select.page") }));
  });

  test("are not offered without the permission to change them", async () => {
    mockApi.signIn(["devices:read"]);
    openConsole("/devices");
    await screen.findByRole("link", { name: "Laptop 1" });
    expect(screen.queryByRole("checkbox", { name: t("lists.select.page") })).toBeNull();
  });
});

test.each([7, 30, 90])(
  "the filter for records that were not seen for %d days is a date for the server",
  async (days) => {
    const user = openConsole("/devices");
    await user.click(await screen.findByRole("checkbox", { name: `No connection for ${days} days` }));
    await waitFor(() => expect(currentPath()).toBe(`/devices?notSeen=${days}`));
    await waitFor(() => {
      const since = mockApi.received("listDevices").at(-1)?.query["filter[inactiveSince][lt]"] ?? "";
      expect(Math.floor((Date.now() - Date.parse(since)) / 86_400_000)).toBe(days);
    });
  },
);

test("the filter for records that never connected asks the server for exactly those", async () => {
  const user = openConsole("/devices");
  await user.click(await screen.findByRole("checkbox", { name: t("lists.notSeen.ever") }));
  await waitFor(() => {
    const { query } = mockApi.received("listDevices").at(-1) ?? {};
    expect(query).toMatchObject({ "filter[hasConnected]": "false" });
    expect(query).not.toHaveProperty(["filter[inactiveSince][lt]"]);
  });
});

test("a filter without results says what it means", async () => {
  mockApi.answer("get", "/tenants/devices", pageOf([]));
  openConsole("/devices?notSeen=30");
  await screen.findByText(t("lists.noMatch.title", { noun: t("devices.noun") }));
  screen.getByText(t("devices.notSeenHelp"));
});

test("users are filtered by group", async () => {
  const group = sample("Group", { name: "Contractors" });
  mockApi.answer("get", "/tenants/groups", pageOf([group]));
  mockApi.answer("get", "/tenants/users", pageOf([sample("User", { email: "ann@example.com" })]));
  const user = openConsole("/users");
  await choose(user, t("users.bulk.group"), "Contractors");
  await waitFor(() =>
    expect(mockApi.received("listUsers").at(-1)?.query).toMatchObject({ "filter[groups.id]": group.id }),
  );
  expect(currentPath()).toBe(`/users?groups.id=${group.id}`);
});

test("the filter for records that no policy names", async () => {
  openConsole("/users?unnamed=1");
  await waitFor(() =>
    expect(mockApi.received("listUsers")[0]?.query).toMatchObject({ "filter[isNamedByPolicy]": "false" }),
  );
});

test("columns, density and page size are kept for the list", async () => {
  const user = openConsole("/devices");
  await click(user, t("lists.options.label"));
  await user.click(await screen.findByRole("menuitemcheckbox", { name: t("devices.fields.system") }));
  await user.click(await screen.findByRole("menuitemradio", { name: t("lists.options.compact") }));
  await user.click(await screen.findByRole("menuitemradio", { name: t("lists.options.rows", { count: 100 }) }));
  await waitFor(() => expect(mockApi.received("listDevices").at(-1)?.query.limit).toBe("100"));
  expect(screen.queryByRole("columnheader", { name: t("devices.fields.system") })).toBeNull();
  expect(document.querySelector("table")?.dataset.density).toBe("compact");
  expect(JSON.parse(localStorage.getItem("gatehouse.list:/tenants/devices") ?? "")).toEqual({
    hidden: ["os"],
    density: "compact",
    size: 100,
  });
});

test("exports all rows that match, not only the page", async () => {
  const saved: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
    saved.push(blob as Blob);
    return "blob:test";
  });
  // The window of the test would follow the address of the file.
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
  const user = openConsole("/devices?active=true");
  await click(user, t("lists.options.label"));
  await user.click(await screen.findByRole("menuitem", { name: t("lists.export.csv") }));
  await waitFor(() => expect(saved).toHaveLength(1));
  const lines = (await saved[0]?.text())?.trim().split("\r\n") ?? [];
  expect(lines).toHaveLength(251);
  expect(
    mockApi
      .received("listDevices")
      .slice(-3)
      .map(({ query }) => query),
  ).toMatchObject(["0", "100", "200"].map((offset) => ({ limit: "100", offset, "filter[active]": "true" })));
});

describe("a row", () => {
  test("opens its record where it is clicked, but not by a click on its checkbox", async () => {
    const user = openConsole("/devices");
    await select(user, "Laptop 2");
    expect(currentPath()).toBe("/devices");
    const row = await screen.findByRole("row", { name: /Laptop 2\b/ });
    await user.click(within(row).getAllByRole("cell").at(2) ?? row);
    await waitFor(() => expect(currentPath()).toBe(`/devices/${devices[1]?.id}`));
  });

  test("is shown in the side panel by the space bar", async () => {
    const user = openConsole("/devices");
    const link = await screen.findByRole("link", { name: "Laptop 1" });
    link.focus();
    await user.keyboard(" ");
    const panel = await findDialog("Laptop 1");
    await panel.findByText(t("devices.fields.lastConnection"));
    const current = () => [...document.querySelectorAll("tr[aria-current=true]")].map((row) => row.textContent);
    expect(current()).toEqual([expect.stringContaining("Laptop 1")]);
    await click(user, t("lists.peek.next"));
    await findDialog("Laptop 2");
    expect(current()).toEqual([expect.stringContaining("Laptop 2")]);
    expect(currentPath()).toBe("/devices");
    await click(user, t("common.close"));
    await waitForDialogToClose();
    expect(current()).toEqual([]);
  });

  test("has facts in the side panel that no column has", async () => {
    const laptop = sample("Device", { id: newId(), name: "Laptop", status: "Offline" });
    const role = sample("Role", { id: newId(), name: "Helpdesk" });
    const ann = sample("User", { id: newId(), email: "ann@example.com", devices: [laptop], roles: [role] });
    mockApi.answer("get", "/tenants/users", pageOf([ann]));
    mockApi.answer("get", "/tenants/users/{id}/passkeys", [sample("Passkey"), sample("Passkey")]);
    const user = openConsole("/users");
    await click(user, t("lists.peek.open", { name: "ann@example.com" }));
    const panel = await findDialog("ann@example.com");
    panel.getByText("Helpdesk");
    panel.getByText(t("common.created"));
    const row = within(panel.getByRole("link", { name: "Laptop" }).closest("tr") ?? expect.fail("no row"));
    row.getByText(t("records.status.offline"));
    const passkeys = await panel.findByText("2");
    expect(passkeys.previousElementSibling?.textContent).toBe(t("signIn.account.passkeys"));
    expect(mockApi.received("readUser")).toEqual([]);
  });
});
