import { screen } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("a resource without a gateway in use is unreachable, in the words and colours of the overview", async () => {
  const gateway = (status: "PENDING" | "OFFLINE" | "MAINTENANCE") => [sample("Gateway", { name: "Berlin", status })];
  mockApi.answer(
    "get",
    "/tenants/resources",
    pageOf([
      sample("Resource", { name: "Alone", status: "OFFLINE" }),
      sample("Resource", { name: "Lost", status: "OFFLINE", gateways: gateway("OFFLINE") }),
      sample("Resource", { name: "Paused", status: "OFFLINE", gateways: gateway("MAINTENANCE") }),
      sample("Resource", { name: "Web", type: "INTERNET", status: "ONLINE", gateways: gateway("OFFLINE") }),
      sample("Resource", { name: "New", status: "OFFLINE", gateways: gateway("PENDING") }),
    ]),
  );
  openConsole("/resources");
  const status = async (name: string) => {
    const row = await screen.findByRole("row", { name: new RegExp(name) });
    const badge = row.querySelector(".status");
    return [badge?.textContent, badge?.getAttribute("data-tone")];
  };
  expect(await status("Alone")).toEqual([t("resources.status.unreachable"), "bad"]);
  screen.getByText(t("overview.findings.resources.no_gateways"));
  expect(await status("Lost")).toEqual([t("resources.status.unreachable"), "bad"]);
  screen.getByText(t("overview.findings.resources.gateway_offline", { name: "Berlin" }));
  expect(await status("Paused")).toEqual([t("resources.status.unreachable"), "bad"]);
  screen.getByText(t("overview.findings.resources.gateway_maintenance", { name: "Berlin" }));
  expect(await status("Web")).toEqual([undefined, undefined]);
  screen.getByText(t("resources.status.byPolicy"));
  expect(await status("New")).toEqual([t("resources.status.unreachable"), "bad"]);
  screen.getByText(t("overview.findings.resources.onlyNotDeployed", { count: 1, gateways: "Berlin", reason: "" }));
});

describe("the list of unreachable resources", () => {
  const wiki = sample("Resource", { id: newId(), name: "Wiki", status: "ONLINE" });
  const findings = (count: number) => {
    const found = {
      count,
      lookedAt: 500,
      total: 500,
      first: [{ id: wiki.id, name: "Wiki", reason: "no_policies" as const }],
    };
    return sample("AccessFindings", { unreachableResources: found });
  };

  test("has exactly the resources of the findings, each with its reason", async () => {
    mockApi.answer("get", "/tenants/access/findings", findings(1));
    mockApi.answer("get", "/tenants/resources", pageOf([wiki]));
    openConsole("/resources?unreachable=1");
    const row = await screen.findByRole("row", { name: /Wiki/ });
    expect(row.textContent).toContain(t("overview.findings.resources.no_policies"));
    expect(mockApi.received("listResources").map(({ query }) => query["filter[id][in]"])).toEqual([wiki.id]);
    expect(screen.queryByText(t("resources.status.unreachableFirst", { shown: 1, count: 1 }))).toBeNull();
  });

  test("says that it is cut if there are more findings than the report contains", async () => {
    mockApi.answer("get", "/tenants/access/findings", findings(140));
    mockApi.answer("get", "/tenants/resources", pageOf([wiki]));
    openConsole("/resources?unreachable=1");
    await screen.findByText(t("resources.status.unreachableFirst", { shown: 1, count: 140 }));
  });

  test("costs no examination of policies before it is asked for", async () => {
    openConsole("/resources");
    await screen.findByRole("checkbox", { name: t("resources.status.unreachable") });
    expect(mockApi.received("findAccessFindings")).toEqual([]);
  });
});
