import { screen, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

// The devices of a deactivated user stay active. Devices that an enrolment key enrolled are active, but not listed.
test.each([
  ["inactive", [true], "deactivatedUser"],
  ["inactive", [false], "deactivatedUser"],
  ["active", [false, false], "deactivated"],
  ["active", [true, false], undefined],
  ["active", [], "text"],
] as const)(
  "without sessions, the page of an %s user with devices %o gives the reason",
  async (status, active, text) => {
    const id = newId();
    const devices = active.map((isActive) => sample("Device", { id: newId(), active: isActive }));
    mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", status, devices }));
    mockApi.answer("get", "/tenants/device-sessions", pageOf([]));
    openConsole(`/users/${id}`);
    const panel = within(await screen.findByRole("region", { name: t("deviceSessions.title") }));
    const reason = text === undefined ? t("deviceSessions.notListedNote") : t(`deviceSessions.empty.${text}`);
    expect(await panel.findByText(reason)).toBeTruthy();
  },
);
