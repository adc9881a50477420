import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { findPanel, openConsole } from "../testing/console-page.tsx";
import { mockApi } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

const id = newId();
const url = `https://login.example.com/${"realms/".repeat(20)}main`;

/** The element that shows the URL, and what is special in it. */
async function findUrl() {
  const { tagName, classList, title } = await screen.findByText(url);
  return { tagName, isUrl: classList.contains("url"), isTruncated: classList.contains("truncated-in-list"), title };
}

test.each([
  ["webhooks", "Webhook", { url }],
  ["identity-providers", "IdentityProvider", { issuer: url }],
] as const)(
  "a URL has one format in the list of %s and on the page, and only the list truncates it",
  async (folder, schema, values) => {
    const record = sample(schema, { id, name: "Login", ...values });
    mockApi.answer("get", `/tenants/${folder}`, [record]);
    mockApi.answer("get", `/tenants/${folder}/{id}`, record);
    const user = openConsole(`/${folder}`);
    expect(await findUrl()).toEqual({ tagName: "CODE", isUrl: true, isTruncated: true, title: url });
    await user.click(screen.getByRole("link", { name: "Login" }));
    await findPanel(t("common.about"));
    expect(await findUrl()).toEqual({ tagName: "CODE", isUrl: true, isTruncated: false, title: "" });
  },
);
