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
  {
    folder: "webhooks",
    answer: () => {
      const webhook = sample("Webhook", { id, name: "Login", url });
      mockApi.answer("get", "/tenants/webhooks", [webhook]);
      mockApi.answer("get", "/tenants/webhooks/{id}", webhook);
    },
  },
  {
    folder: "identity-providers",
    answer: () => {
      const provider = sample("IdentityProvider", { id, name: "Login", issuer: url });
      mockApi.answer("get", "/tenants/identity-providers", [provider]);
      mockApi.answer("get", "/tenants/identity-providers/{id}", provider);
    },
  },
])("a URL has one format in the list of $folder and on the page, and only the list truncates it", async (table) => {
  table.answer();
  const user = openConsole(`/${table.folder}`);
  expect(await findUrl()).toEqual({ tagName: "CODE", isUrl: true, isTruncated: true, title: url });
  await user.click(screen.getByRole("link", { name: "Login" }));
  await findPanel(t("common.about"));
  expect(await findUrl()).toEqual({ tagName: "CODE", isUrl: true, isTruncated: false, title: "" });
});
