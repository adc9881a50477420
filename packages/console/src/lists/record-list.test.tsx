import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { choose, click, currentPath, findTitle, openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { pageOf, sample } from "../testing/sample.ts";

const groups = Array.from({ length: 25 }, (_, index) => sample("Group", { name: `Group ${index + 1}` }));
const rows = () => [...document.querySelectorAll("tbody tr")].map((row) => row.querySelector("td")?.textContent);

describe("a list that the server pages", () => {
  test("shows that it loads, then the records and how many there are", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    mockApi.answer("get", "/tenants/groups", async () => {
      await answered;
      return pageOf(groups, 60);
    });
    openConsole("/groups");
    await waitFor(() => expect(document.querySelector("table")?.getAttribute("aria-busy")).toBe("true"));
    answer();
    await screen.findByText(t("lists.range", { first: 1, last: 25, total: 60, noun: t("groups.noun") }));
    expect(rows()).toHaveLength(25);
    expect(document.querySelector("table")?.getAttribute("aria-busy")).toBe("false");
  });

  test("explains what the records are for if there are none", async () => {
    openConsole("/groups");
    await screen.findByText(t("groups.empty.title"));
    await screen.findByText(t("groups.empty.text"));
    expect(screen.queryByRole("table")).toBeNull();
  });

  test("requests the next page and keeps it in the address", async () => {
    mockApi.answer("get", "/tenants/groups", pageOf(groups, 60));
    const user = openConsole("/groups");
    await click(user, t("lists.page", { number: 2 }));
    await screen.findByText(t("lists.range", { first: 26, last: 50, total: 60, noun: t("groups.noun") }));
    expect(currentPath()).toBe("/groups?page=2");
    await waitFor(() =>
      expect(mockApi.received("listGroups").at(-1)?.query).toEqual({ limit: "25", offset: "25", sort: "name" }),
    );
  });

  test("searches for the exact text, starting on the first page", async () => {
    mockApi.answer("get", "/tenants/groups", pageOf(groups, 60));
    const user = openConsole("/groups?page=2");
    await user.type(await screen.findByRole("searchbox"), "50%");
    await waitFor(() => expect(currentPath()).toBe("/groups?q=50%25"));
    await waitFor(() =>
      expect(mockApi.received("listGroups").at(-1)?.query).toMatchObject({
        "filter[name][ilike]": "%50\\%%",
        offset: "0",
      }),
    );
  });

  test("offers to remove a search that finds nothing", async () => {
    mockApi.answer("get", "/tenants/groups", ({ query }) =>
      pageOf("filter[name][ilike]" in query ? [] : [sample("Group", { name: "Engineering" })]),
    );
    const user = openConsole("/groups?q=sales");
    await screen.findByText(t("lists.noMatch.title", { noun: t("groups.noun") }));
    await click(user, t("lists.showAll", { noun: t("groups.noun") }));
    await screen.findByRole("link", { name: "Engineering" });
    await screen.findByText(t("lists.results", { count: 1 }));
    expect(currentPath()).toBe("/groups");
  });

  test("sorts by a column, first ascending, then descending", async () => {
    mockApi.answer("get", "/tenants/groups", pageOf(groups, 60));
    const user = openConsole("/groups");
    await click(user, t("common.created"));
    await waitFor(() => expect(mockApi.received("listGroups").at(-1)?.query.sort).toBe("createdAt"));
    const heading = () => screen.getByRole("columnheader", { name: t("common.created") });
    await waitFor(() => expect(heading().getAttribute("aria-sort")).toBe("ascending"));
    await click(user, t("common.created"));
    await waitFor(() => expect(heading().getAttribute("aria-sort")).toBe("descending"));
    expect(currentPath()).toBe("/groups?sort=-createdAt");
  });

  test("reads the search, the filter and the page from the address", async () => {
    openConsole("/users?q=ann&status=pending&page=2&sort=-email");
    await waitFor(() =>
      expect(mockApi.received("listUsers")[0]?.query).toEqual({
        limit: "25",
        offset: "25",
        sort: "-email",
        "filter[email][ilike]": "%ann%",
        "filter[status]": "pending",
      }),
    );
    expect((await screen.findByRole<HTMLInputElement>("searchbox")).value).toBe("ann");
  });
});

describe("an unpaged list of the server", () => {
  const gateways = [
    sample("Gateway", { name: "Gateway 10", status: "ONLINE" }),
    sample("Gateway", { name: "Gateway 2", status: "OFFLINE" }),
    sample("Gateway", { name: "berlin", status: "ONLINE" }),
  ];

  test("sorts names as people do: without regard to case, numbers by value", async () => {
    mockApi.answer("get", "/tenants/gateways", gateways);
    openConsole("/gateways");
    await screen.findByRole("link", { name: "berlin" });
    expect(rows()).toEqual(["berlin", "Gateway 2", "Gateway 10"]);
  });

  test("filters and searches without asking the server again", async () => {
    mockApi.answer("get", "/tenants/gateways", gateways);
    const user = openConsole("/gateways");
    await screen.findByRole("link", { name: "berlin" });
    await choose(user, t("common.status"), t("records.status.online"));
    await waitFor(() => expect(rows()).toEqual(["berlin", "Gateway 10"]));
    await user.type(screen.getByRole("searchbox"), "10");
    await waitFor(() => expect(rows()).toEqual(["Gateway 10"]));
    expect(currentPath()).toBe("/gateways?status=ONLINE&q=10");
    expect(mockApi.received("listGateways")).toHaveLength(1);
  });

  test("shows pages of 25", async () => {
    mockApi.answer(
      "get",
      "/tenants/protocols",
      Array.from({ length: 30 }, (_, index) => sample("Protocol", { name: `P ${index + 1}` })),
    );
    openConsole("/protocols?page=2");
    await findTitle(/./);
    await waitFor(() => expect(rows()).toEqual(["P 26", "P 27", "P 28", "P 29", "P 30"]));
  });
});
