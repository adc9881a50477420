import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { pageOf, sample } from "../../testing/sample.ts";

test("a resource is unreachable only if a gateway of it was online, and says why", async () => {
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
  expect(await status("Alone")).toEqual([t("resources.status.noGateway"), "idle"]);
  expect(await status("Lost")).toEqual([t("resources.status.unreachable"), "bad"]);
  screen.getByText(t("resources.status.reasons.offline", { name: "Berlin" }));
  expect(await status("Paused")).toEqual([t("resources.status.unreachable"), "bad"]);
  screen.getByText(t("resources.status.reasons.maintenance", { name: "Berlin" }));
  expect(await status("Web")).toEqual([undefined, undefined]);
  screen.getByText(t("resources.status.byPolicy"));
  expect(await status("New")).toEqual([t("resources.status.notDeployed"), "idle"]);
});
