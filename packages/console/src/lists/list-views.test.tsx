import { screen, waitFor } from "@testing-library/dom";
import { beforeEach, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { chooseAction, click, currentPath, fill, findTitle, openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { pageOf, sample } from "../testing/sample.ts";

const stale = sample("View", {
  list: "devices",
  name: "Stale laptops",
  search: "lap",
  filters: { notSeen: "true", dropped: "x" },
  sort: "-createdAt",
  hiddenColumns: [],
  density: "compact",
  pageSize: 50,
});

beforeEach(() => {
  localStorage.clear();
  mockApi.signInPerson(["devices:read"]);
  mockApi.answer("get", "/tenants/devices", pageOf([sample("Device")]));
  mockApi.answer("get", "/tenants/views", [stale, sample("View", { list: "users", name: "Of another list" })]);
});

test("a view shows the list as it was saved, without filters that no longer exist", async () => {
  const user = openConsole("/devices?active=false&page=3");
  await chooseAction(user, t("lists.views.label"), "Stale laptops");
  await waitFor(() => expect(currentPath()).toContain("q=lap"));
  const search = new URLSearchParams(currentPath().split("?")[1]);
  expect(Object.fromEntries(search)).toEqual({ notSeen: "true", q: "lap", sort: "-createdAt" });
  await waitFor(() => expect(mockApi.received("listDevices").at(-1)?.query.limit).toBe("50"));
  await screen.findByRole("button", { name: "Stale laptops" });
});

test("the current list can be saved under a name", async () => {
  mockApi.answer("post", "/tenants/views", stale);
  const user = openConsole("/devices?q=phone&sort=-name");
  await chooseAction(user, t("lists.views.label"), t("lists.views.save"));
  await fill(user, t("lists.views.name"), " Phones ");
  await click(user, t("lists.views.saveButton"));
  await waitFor(() =>
    expect(mockApi.bodies("createView")).toEqual([
      {
        list: "devices",
        name: "Phones",
        search: "phone",
        filters: {},
        sort: "-name",
        hiddenColumns: [],
        density: "comfortable",
        pageSize: 25,
      },
    ]),
  );
});

test("a view that is shown can be changed and deleted", async () => {
  const user = openConsole("/devices");
  await chooseAction(user, t("lists.views.label"), "Stale laptops");
  await chooseAction(user, "Stale laptops", t("lists.views.update", { name: "Stale laptops" }));
  await waitFor(() => expect(mockApi.bodies("updateView")).toMatchObject([{ search: "lap", pageSize: 50 }]));
  await chooseAction(user, "Stale laptops", t("lists.views.delete", { name: "Stale laptops" }));
  await waitFor(() => expect(mockApi.writes()).toContain(`DELETE /tenants/views/${stale.id}`));
});

test("views of other lists are not offered, and a key has none", async () => {
  const user = openConsole("/devices");
  await click(user, t("lists.views.label"));
  await screen.findByRole("menuitem", { name: "Stale laptops" });
  expect(screen.queryByRole("menuitem", { name: "Of another list" })).toBeNull();
});

test("a session of a key has no views", async () => {
  mockApi.signIn();
  openConsole("/devices");
  await findTitle(/.*/);
  expect(screen.queryByRole("button", { name: t("lists.views.label") })).toBeNull();
  expect(mockApi.received("listViews")).toEqual([]);
});
