import { screen, waitFor, within } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, openConsole } from "../../testing/console-page.tsx";
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
  // A device that awaits approval is in the list too.
  screen.getByText(/^A device can connect as soon as it is enrolled and, where required, approved/);
});

test("the list is filtered by a person, whom the filter finds", async () => {
  const person = sample("User", { id: newId(), email: "engineer-01@example.com" });
  mockApi.answer("get", "/tenants/device-sessions", pageOf([]));
  mockApi.answer("get", "/tenants/users", pageOf([person]));
  const user = openConsole("/device-sessions?state=active");
  await choose(user, t("deviceSessions.fields.user"), person.email ?? "");
  await waitFor(() =>
    expect(mockApi.received("listDeviceSessions").at(-1)?.query).toMatchObject({ "filter[user.id]": person.id }),
  );
});
