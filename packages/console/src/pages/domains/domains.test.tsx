import { screen } from "@testing-library/dom";
import { test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("the name and the value of the TXT record can be copied", async () => {
  mockApi.answer("get", "/tenants/domains", [sample("Domain", { id: newId(), domain: "example.com" })]);
  openConsole("/domains");
  for (const part of [t("domains.fields.recordName"), t("domains.fields.recordValue")]) {
    await screen.findByRole("button", {
      name: t("common.copyNamed", { name: t("domains.partOfRecord", { part: part.toLowerCase() }) }),
    });
  }
});
