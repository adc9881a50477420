import { screen, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { formatDate } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { findPanel, openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { newId, pageOf, sample } from "../testing/sample.ts";

const id = newId();
const at = "2026-03-02T09:00:00.000Z";
const device = sample("Device", { id: newId(), name: "Laptop", status: "Offline", lastConnection: at });

/** The text of each cell with the label that it has on a card. */
function cellsOf(panel: Awaited<ReturnType<typeof findPanel>>) {
  return panel.getAllByRole("cell").map((cell) => [cell.getAttribute("data-label"), cell.textContent]);
}

test("a card of a panel keeps each field, and labels the lines below the name", async () => {
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, devices: [device] }));
  openConsole(`/users/${id}`);
  const panel = await findPanel(t("common.titleCount", { title: t("users.devices.title"), count: 1 }));
  expect(cellsOf(panel)).toEqual([
    [null, "Laptop"],
    [null, t("records.status.offline")],
    [t("users.fields.lastConnection"), formatDate(at)],
  ]);
});

test("the buttons of a row are in its last cell", async () => {
  const member = { id: newId(), email: "ann@example.com", createdAt: at, updatedAt: at };
  mockApi.answer("get", "/tenants/groups/{id}", sample("Group", { id, users: [member] }));
  openConsole(`/groups/${id}`);
  const button = await screen.findByRole("button", {
    name: t("groups.members.removeNamed", { name: member.email }),
  });
  expect(button.closest("td")?.className).toContain("row-actions");
  expect(button.closest("td")).toBe(button.closest("tr")?.lastElementChild);
});

test("the buttons of a row in a list are in its last cell, without icons", async () => {
  mockApi.answer("get", "/tenants/devices", pageOf([sample("Device", { id: newId(), approval: "pending" })]));
  openConsole("/device-approvals");
  const button = await screen.findByRole("button", { name: t("deviceSessions.approvals.refuse") });
  const cell = button.closest("td");
  expect(cell).toBe(button.closest("tr")?.lastElementChild);
  expect(within(cell ?? document.body).getAllByRole("button").length).toBeGreaterThan(0);
  expect(cell?.querySelector("svg")).toBeNull();
});
