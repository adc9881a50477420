/** Forms that create records: an example of a name, how to enter several values, and the description at the end. */
import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { click, findDialog, openConsole } from "./console-page.tsx";

const named = [
  "access-tests",
  "admission-rules",
  "api-keys",
  "enrolment-keys",
  "gateways",
  "groups",
  "policies",
  "protocols",
  "resources",
  "webhooks",
];

const example = /^Example: \S/;

async function findName() {
  const dialog = await findDialog();
  return dialog.findByRole<HTMLInputElement>("textbox", { name: t("common.name") });
}

describe("the form for new", () => {
  test.each(named)("%s shows an example of a name", async (path) => {
    openConsole(`/${path}?new=1`);
    expect((await findName()).placeholder).toMatch(example);
  });

  test("identity providers shows an example of a name if no preset fills it in", async () => {
    const user = openConsole("/identity-providers?new=1");
    await click(user, t("identityProviders.presets.other"));
    expect((await findName()).placeholder).toMatch(example);
  });

  test("groups says how to enter several groups of an identity provider", async () => {
    openConsole("/groups?new=1");
    await findDialog();
    const field = screen.getByRole<HTMLInputElement>("combobox", { name: t("groups.fields.idpMapping") });
    expect(field.placeholder).toMatch(example);
    const help = document.getElementById(field.getAttribute("aria-describedby") ?? "");
    expect(help?.textContent).toContain(t("records.form.severalValues"));
  });
});

test("the page that publishes shows examples of names", async () => {
  openConsole("/publish");
  const names = () => screen.getAllByRole<HTMLInputElement>("textbox", { name: /name/i });
  await waitFor(() => expect(names()).toHaveLength(2));
  for (const name of names()) expect(name.placeholder).toMatch(example);
});

test.each(["groups", "gateways", "resources", "policies", "access-tests", "webhooks"])(
  "the description is the last field of a form: /%s",
  async (path) => {
    openConsole(`/${path}?new=1`);
    const dialog = await findDialog();
    const description = dialog.getByRole("textbox", { name: t("common.description") });
    const fields = [...(description.closest("form")?.querySelectorAll("input:not([type=hidden]), textarea") ?? [])];
    expect(fields.findLast((field) => !field.hasAttribute("aria-hidden"))).toBe(description);
  },
);

test.each([
  ["policies", t("policies.typeFixed")],
  ["resources", t("resources.typeHelp")],
  ["enrolment-keys", t("enrolmentKeys.createIntro")],
  ["protocols", t("protocols.fields.portsHelp")],
])("says what cannot change later: /%s", async (path, text) => {
  openConsole(`/${path}?new=1`);
  const dialog = await findDialog();
  await dialog.findByText(text, { exact: false });
  expect(text).toMatch(/You can(?:not)? change .* later\./);
});

test("a new resource has the heading of its addresses after all fields without a heading, except the description", async () => {
  openConsole("/resources?new=1");
  const dialog = await findDialog();
  const addresses = await dialog.findByRole("group", { name: t("resources.addresses.label") });
  const gateways = dialog.getByRole("combobox", { name: t("resources.gateways.label") });
  expect(gateways.compareDocumentPosition(addresses)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});
