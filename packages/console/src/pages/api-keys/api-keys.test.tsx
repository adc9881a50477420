import { permissions, rolePermissions, rolesByPrivilege } from "@gatehouse/contract/permissions";
import { screen, waitFor, within } from "@testing-library/dom";
import { expect, test, vi } from "vitest";
import { formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { click, fill, findDialog, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

/** The name of a button, which ends with the number of permissions. */
const named = (name: string) => new RegExp(`^${name} \\(`);
const preset = (name: string) => screen.getByRole("button", { name: named(name) });

test("each permission has a line that describes it, and the chosen preset is marked", async () => {
  const user = openConsole("/api-keys?new=1");
  const dialog = await findDialog(t("apiKeys.create"));
  dialog.getByText(t("records.permissions.help.configuration"));
  const rows = dialog.getAllByRole("rowheader").map(({ childElementCount }) => childElementCount);
  expect(rows).toEqual(rows.map(() => 1));
  await click(user, named(t("apiKeys.presets.infrastructure")));
  await waitFor(() => expect(preset(t("apiKeys.presets.infrastructure")).getAttribute("aria-pressed")).toBe("true"));
  expect(preset(t("records.roles.AUDITOR")).getAttribute("aria-pressed")).toBe("false");
  await click(user, named(t("records.roles.ADMIN")));
  await waitFor(() => expect(preset(t("records.roles.ADMIN")).getAttribute("aria-pressed")).toBe("true"));
  expect(preset(t("apiKeys.presets.infrastructure")).getAttribute("aria-pressed")).toBe("false");
  expect(rolePermissions.ADMIN).toEqual(permissions);
});

test("the presets with names of roles have the permissions of these roles", async () => {
  const user = openConsole("/api-keys?new=1");
  const dialog = await findDialog(t("apiKeys.create"));
  for (const type of ["ADMIN", "SUPPORT", "AUDITOR", "BASIC"] as const) {
    await click(user, named(t(`records.roles.${type}`)));
    const held = dialog.getAllByRole<HTMLInputElement>("checkbox").filter(({ checked }) => checked);
    expect(held).toHaveLength(rolePermissions[type].length);
  }
});

test("the presets of roles have the order of the list of roles, and the help is a description", async () => {
  openConsole("/api-keys?new=1");
  const dialog = await findDialog(t("apiKeys.create"));
  const presets = dialog.getByRole("group", { name: t("apiKeys.presets.label") });
  const names = within(presets).getAllByRole("button");
  const order = rolesByPrivilege.map((type) => t(`records.roles.${type}`));
  const places = names.slice(0, 4).map(({ textContent }) => order.indexOf((textContent ?? "").replace(/ \(.*/, "")));
  expect(places.every((place) => place >= 0)).toBe(true);
  expect(places).toEqual([...places].sort((one, other) => one - other));
  const [infrastructure] = names.slice(-1);
  const about = document.getElementById(infrastructure?.getAttribute("aria-describedby") ?? "");
  expect(about?.textContent).toBe(t("apiKeys.presets.infrastructureAbout"));
  expect(dialog.getByText(t("apiKeys.presets.label")).className).toContain("InputWrapper-description");
});

test("rows of the table are nouns, and their checkboxes have the verb", async () => {
  openConsole("/api-keys?new=1");
  const dialog = await findDialog(t("apiKeys.create"));
  const rows = dialog.getAllByRole("rowheader").map(({ firstChild }) => firstChild?.textContent ?? "");
  expect(rows.filter((row) => /^(?:Read|Write)/.test(row))).toEqual([]);
  dialog.getByRole("checkbox", { name: "Read Events" });
});

test("a key can expire after a number of days", async () => {
  const now = Date.parse("2026-03-02T09:30:00.000Z");
  vi.spyOn(Date, "now").mockReturnValue(now);
  mockApi.answer("post", "/tenants/api-keys", sample("NewApiKey", { id: newId(), name: "Terraform" }));
  const user = openConsole("/api-keys?new=1");
  await fill(user, t("common.name"), "Terraform");
  await click(user, named(t("apiKeys.presets.infrastructure")));
  await click(user, t("apiKeys.fields.expiresIn.days", { count: 90 }));
  await click(user, t("common.create"));
  await waitFor(() =>
    expect(mockApi.bodies("createApiKey")).toMatchObject([{ expiresAt: "2026-05-31T09:30:00.000Z" }]),
  );
  vi.restoreAllMocks();
});

test("a form with an invalid time is not sent, and can be sent after the correction", async () => {
  mockApi.answer("post", "/tenants/api-keys", sample("NewApiKey", { id: newId(), name: "Terraform" }));
  const user = openConsole("/api-keys?new=1");
  await fill(user, t("common.name"), "Terraform");
  await click(user, named(t("apiKeys.presets.infrastructure")));
  const expiry = await screen.findByLabelText<HTMLInputElement>(t("apiKeys.fields.expires"));
  await user.type(expiry, "next year");
  await click(user, t("common.create"));
  await screen.findByText(t("common.timeInvalid"));
  await user.clear(expiry);
  await user.tab();
  await waitFor(() => expect(screen.queryByText(t("common.timeInvalid"))).toBeNull());
  expect(mockApi.bodies("createApiKey")).toEqual([]);
  await user.type(expiry, "3 Mar 2099, 09:30");
  await click(user, t("common.create"));
  await waitFor(() =>
    expect(mockApi.bodies("createApiKey")).toMatchObject([{ expiresAt: new Date(2099, 2, 3, 9, 30).toISOString() }]),
  );
});

test("the expiry names the time zone, and its calendar returns the focus to the field", async () => {
  const showPicker = vi.fn();
  // The window of the test has no calendar.
  Object.defineProperty(HTMLInputElement.prototype, "showPicker", { configurable: true, value: showPicker });
  const user = openConsole("/api-keys?new=1");
  const dialog = await findDialog(t("apiKeys.create"));
  dialog.getByText(new RegExp(t("common.timesIn", { zone: formatOwnZone() })));
  await user.click(
    dialog.getByRole("button", { name: t("common.chooseTime", { field: t("apiKeys.fields.expires") }) }),
  );
  expect(showPicker).toHaveBeenCalledTimes(1);
  expect(document.activeElement).toBe(screen.getByLabelText(t("apiKeys.fields.expires")));
  Reflect.deleteProperty(HTMLInputElement.prototype, "showPicker");
});

test("a time that is still being typed is not lost without a question", async () => {
  const user = openConsole("/api-keys?new=1");
  await findDialog(t("apiKeys.create"));
  await user.type(screen.getByLabelText(t("apiKeys.fields.expires")), "3 Ma");
  await user.keyboard("{Escape}");
  await screen.findByText(t("records.form.discardTitle"));
  await click(user, t("records.form.discard"));
  await waitForDialogToClose();
});
