import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { compareText } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { openConsole } from "../../testing/console-page.tsx";

test("the kinds of records have their names, in alphabetical order", async () => {
  openConsole("/design");
  await screen.findByRole("heading", { name: t("design.title") });
  const names = screen.getAllByRole("cell").map(({ textContent }) => textContent ?? "");
  expect(names).toEqual([...names].sort(compareText));
  expect(names).toContain(t("deviceSessions.approvals.title"));
  expect(names).not.toContain("sign-ins");
});
