import { screen, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("only a session that has begun can have no end, and the page says why other devices connect", async () => {
  const session = (name: string, state: "active" | "not-signed-in") => {
    const { endsAt: _endless, ...others } = sample("ListedDeviceSession", { id: newId(), state });
    return { ...others, device: { ...others.device, name } };
  };
  mockApi.answer(
    "get",
    "/tenants/device-sessions",
    pageOf([session("Laptop", "active"), session("Phone", "not-signed-in")]),
  );
  openConsole("/device-sessions");
  const rowOf = async (name: string) => within(await screen.findByRole("row", { name: new RegExp(name) }));
  (await rowOf("Laptop")).getByText(t("deviceSessions.noEnd"));
  expect((await rowOf("Phone")).queryByText(t("deviceSessions.noEnd"))).toBeNull();
  screen.getByText(/^A device connects once it is enrolled/);
});
