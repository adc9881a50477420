import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { currentPath, findPanel, openConsole } from "../testing/console-page.tsx";
import { mockApi, problem } from "../testing/mock-api.ts";
import { newId, pageOf, sample } from "../testing/sample.ts";

const id = newId();
const ann = sample("User", { id, email: "ann@example.com", status: "active" });
const wiki = { id: newId(), name: "Wiki" };
const payroll = { id: newId(), name: "Payroll" };
const policy = { id: newId(), name: "Staff" };
const user = { id, name: "ann@example.com" };
const access = (resource: typeof wiki) => ({ user, resource, policy, gateways: [], balanced: false });

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

function counted(title: "records.accessTab.what" | "records.accessTab.who", count: number): string {
  return t("common.titleCount", { title: t(title), count });
}

function rowText(name: string): string {
  return screen.getByRole("row", { name: new RegExp(name) }).textContent ?? "";
}

describe("the access tab of a user", () => {
  test("shows what can be reached, through which policy, and when access began", async () => {
    mockApi.answer("get", "/tenants/users/{id}", ann);
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { begins: daysAgo(400) }));
    mockApi.answer("get", "/tenants/access", ({ query }) => {
      if (query.at === undefined) return pageOf([access(wiki), access(payroll)]);
      const days = Math.round((Date.now() - Date.parse(query.at)) / 86_400_000);
      if (days > 30) return problem("before_history");
      return pageOf(days > 7 ? [access(wiki)] : [access(wiki), access(payroll)]);
    });
    const person = openConsole(`/users/${id}`);
    await person.click(await screen.findByRole("tab", { name: t("records.tabs.access") }));
    await findPanel(counted("records.accessTab.what", 2));
    await waitFor(() => expect(currentPath()).toBe(`/users/${id}?tab=access`));
    await waitFor(() => expect(rowText("Payroll")).toContain(t("records.accessTab.within", { count: 30 })));
    expect(rowText("Wiki")).toContain(t("records.accessTab.before", { count: 30 }));
    expect(rowText("Wiki")).toContain("Staff");
    screen.getByText(new RegExp(t("records.accessTab.sinceNote")));
  });

  test("gives no count of the resources if it shows only the first rows", async () => {
    mockApi.answer("get", "/tenants/users/{id}", ann);
    mockApi.answer("get", "/tenants/access", ({ query }) => pageOf(query.at === undefined ? [access(wiki)] : [], 101));
    openConsole(`/users/${id}?tab=access`);
    await findPanel(t("records.accessTab.what"));
  });

  test("counts a user once who reaches a resource through two policies", async () => {
    const resource = sample("Resource", { id: wiki.id, name: wiki.name });
    mockApi.answer("get", "/tenants/resources/{id}", resource);
    const other = { ...access(wiki), policy: { id: newId(), name: "Guests" } };
    mockApi.answer("get", "/tenants/access", pageOf([access(wiki), other]));
    openConsole(`/resources/${wiki.id}?tab=access`);
    await findPanel(counted("records.accessTab.who", 1));
  });

  test("says when access began if the history covers only an hour, and requests no earlier time", async () => {
    const begins = daysAgo(1 / 24);
    mockApi.answer("get", "/tenants/users/{id}", ann);
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { begins }));
    mockApi.answer("get", "/tenants/access", ({ query }) =>
      pageOf(query.at === undefined ? [access(wiki), access(payroll)] : [access(payroll)]),
    );
    openConsole(`/users/${id}?tab=access`);
    await findPanel(counted("records.accessTab.what", 2));
    await waitFor(() => expect(rowText("Wiki")).toContain(t("records.accessTab.within", { count: 1 })));
    expect(rowText("Payroll")).toContain(t("records.accessTab.unknown"));
    expect(mockApi.received("listPastAccess").flatMap(({ query }) => query.at ?? [])).toEqual([begins]);
  });

  test("requests no access at times before the record existed", async () => {
    const begins = daysAgo(400);
    mockApi.answer("get", "/tenants/users/{id}", { ...ann, createdAt: daysAgo(10) });
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { begins }));
    mockApi.answer("get", "/tenants/access", ({ query }) => {
      if (query.at !== undefined && Date.parse(query.at) < Date.now() - 10 * 86_400_000) return problem("not_found");
      return pageOf([access(wiki)]);
    });
    openConsole(`/users/${id}?tab=access`);
    await findPanel(counted("records.accessTab.what", 1));
    await waitFor(() => expect(rowText("Wiki")).toContain(t("records.accessTab.within", { count: 30 })));
    expect(mockApi.received("listPastAccess").flatMap(({ query }) => query.at ?? [])).toHaveLength(2);
  });

  test("sorts resources by name, and does not repeat the device on its own page", async () => {
    mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { id, name: "Laptop" }));
    mockApi.answer("get", "/tenants/access", pageOf([access(wiki), access(payroll)]));
    openConsole(`/devices/${id}?tab=access`);
    await findPanel(counted("records.accessTab.what", 2));
    const headers = screen.getAllByRole("columnheader").map(({ textContent }) => textContent);
    expect(headers).not.toContain(t("access.found.columns.devices"));
    const rows = screen.getAllByRole("row").slice(1);
    expect(rows.map((row) => row.querySelector("a")?.textContent)).toEqual(["Payroll", "Wiki"]);
  });

  test("gives the reason why a deactivated user reaches nothing", async () => {
    mockApi.answer("get", "/tenants/users/{id}", { ...ann, status: "inactive" });
    openConsole(`/users/${id}?tab=access`);
    await screen.findByText(t("access.reasons.user_inactive"));
    expect(screen.queryByText(t("records.accessTab.nothingText"))).toBeNull();
    expect(screen.queryByRole("link", { name: t("policies.create") })).toBeNull();
  });

  test("asks about no earlier time if nothing can be reached", async () => {
    mockApi.answer("get", "/tenants/users/{id}", ann);
    openConsole(`/users/${id}?tab=access`);
    await screen.findByText(t("records.accessTab.nothingText"));
    expect(mockApi.received("listPastAccess")).toHaveLength(1);
  });

  test("is not offered without the permission to ask", async () => {
    mockApi.signIn(["users:read"]);
    mockApi.answer("get", "/tenants/users/{id}", ann);
    openConsole(`/users/${id}?tab=access`);
    await findPanel(t("common.about"));
    expect(screen.queryByRole("tab")).toBeNull();
    expect(mockApi.received("listPastAccess")).toEqual([]);
  });
});

test("the access tab of a group lists the policies that name it, and those for all groups", async () => {
  const group = sample("Group", { id: newId(), name: "Sales" });
  const named = { resources: [], users: [], devices: [], gateways: [], active: true, action: true };
  mockApi.answer("get", "/tenants/groups/{id}", group);
  mockApi.answer("get", "/tenants/policies", ({ query }) =>
    pageOf(
      query["filter[type]"] === "PRIVATE"
        ? [
            sample("Policy", {
              ...named,
              id: newId(),
              name: "For sales",
              groups: [sample("PolicyGroup", { id: group.id })],
            }),
            sample("Policy", { ...named, id: newId(), name: "For all", allGroups: true }),
            sample("Policy", { ...named, id: newId(), name: "For others", groups: [sample("PolicyGroup")] }),
          ]
        : [],
    ),
  );
  openConsole(`/groups/${group.id}?tab=access`);
  await screen.findByRole("link", { name: "For sales" });
  screen.getByRole("link", { name: "For all" });
  expect(screen.queryByRole("link", { name: "For others" })).toBeNull();
});
