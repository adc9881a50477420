import { screen } from "@testing-library/dom";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, findDialog, findPanel, findTitle, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

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

test("a custom protocol has a button for its only action, and lists the addresses that use it", async () => {
  const protocol = sample("Protocol", { id: newId(), name: "Calls", type: "CUSTOM" });
  const address = (text: string, protocols: readonly (typeof protocol)[]) =>
    sample("Address", { id: newId(), address: text, protocols });
  const resource = sample("Resource", {
    id: newId(),
    name: "Telephone system",
    addresses: [address("calls.example.com", [protocol]), address("files.example.com", [])],
  });
  mockApi.answer("get", "/tenants/protocols/{id}", protocol);
  mockApi.answer("get", "/tenants/resources", pageOf([resource]));
  openConsole(`/protocols/${protocol.id}`);
  await findTitle("Calls");
  screen.getByRole("button", { name: t("common.delete") });
  expect(screen.queryByRole("button", { name: t("common.more") })).toBeNull();
  const uses = await findPanel(t("protocols.resources", { count: 1 }));
  uses.getByRole("link", { name: "Telephone system" });
  uses.getByRole("link", { name: "calls.example.com" });
  expect(uses.queryByRole("link", { name: "files.example.com" })).toBeNull();
});

test("each line of a new protocol has one port or one range", async () => {
  const user = openConsole("/protocols?new=1");
  const dialog = await findDialog();
  dialog.getByText(t("protocols.fields.portsHelp"));
  await click(user, t("protocols.fields.addPorts"));
  dialog.getByRole("textbox", { name: t("protocols.fields.portLine", { number: 2 }) });
});
