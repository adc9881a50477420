import { screen } from "@testing-library/dom";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { sample } from "../../testing/sample.ts";

test("a range of ports is found as people type it, and the protocol of all traffic is built in", async () => {
  mockApi.answer("get", "/tenants/protocols", [
    sample("Protocol", { name: "All", type: "ALL", networkProtocols: [{ protocol: "ICMP" }] }),
    sample("Protocol", { name: "Calls", type: "CUSTOM", networkProtocols: [{ protocol: "UDP", port: "5000-5100" }] }),
  ]);
  openConsole("/protocols");
  const row = async (name: string) => (await screen.findByRole("row", { name: new RegExp(name) })).textContent;
  expect(await row("All")).toContain(t("protocols.kinds.builtIn"));
  expect(await row("Calls")).toContain("UDP 5000–5100");
  await userEvent.type(screen.getByRole("searchbox"), "5000-5100");
  await expect.poll(() => screen.queryByRole("row", { name: /All/ })).toBeNull();
  expect(await row("Calls")).toContain(t("protocols.kinds.custom"));
});
