import { screen, within } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { guideNames } from "../../records/guide-link.tsx";
import { currentPath, findTitle, openConsole } from "../../testing/console-page.tsx";
import { readGuide } from "./guide-texts.ts";
import { guideGroups } from "./guides.page.tsx";
import { headingId } from "./heading-id.ts";

/** Markup of Markdown that a reader must not see. */
const markup = /(?:^|\s)#{1,6} |\*\*|```|\]\(|^\||<!--/m;

test("each guide is in one group of the list", () => {
  expect(Object.values(guideGroups).flat().sort()).toEqual([...guideNames].sort());
});

describe("a guide", () => {
  test.each(guideNames)("%s has the title of its document", async (name) => {
    const [title] = (await readGuide(name)).split("\n", 1);
    expect(title).toBe(`# ${t(`guides.names.${name}`)}`);
  });

  test.each(guideNames)("%s shows its text without markup", async (name) => {
    openConsole(`/guides/${name}`);
    const article = await screen.findByRole("article");
    // Pictures are not shown, so no sentence may lead to one.
    const unfinished = [...article.querySelectorAll("p, li")].filter(
      ({ textContent, nextElementSibling, tagName }) =>
        textContent.trim().endsWith(":") &&
        (tagName === "LI" || nextElementSibling === null || /^H\d$/.test(nextElementSibling.tagName)),
    );
    expect(unfinished.map(({ textContent }) => textContent)).toEqual([]);
    for (const code of article.querySelectorAll("pre, code")) code.remove();
    expect(article.textContent?.length).toBeGreaterThan(500);
    expect(article.textContent).not.toMatch(markup);
    expect(article.textContent).not.toMatch(/["']/);
  });

  test("names its headings as documents refer to them", async () => {
    openConsole("/guides/device");
    const heading = await screen.findByRole("heading", { name: "Use any WireGuard app" });
    expect(heading.id).toBe("use-any-wireguard-app");
    // Not under the bar at the top of the page.
    expect(heading.style.scrollMarginTop).toContain("--app-shell-header-height");
    expect(headingId("`gatehouse login`: what's new?")).toBe("gatehouse-login-whats-new");
  });

  test("has headings that are larger than its text, by their depth", async () => {
    openConsole("/guides/device");
    const article = within(await screen.findByRole("article"));
    const sizeOf = (level: number) =>
      Number.parseFloat(
        article.getAllByRole("heading", { level })[0]?.style.getPropertyValue("--title-fz") ??
          expect.fail("no heading"),
      );
    expect(sizeOf(2)).toBeGreaterThan(1.1);
    expect(sizeOf(2)).toBeGreaterThan(sizeOf(3));
    // The text has 0.875rem.
    expect(sizeOf(3)).toBeGreaterThan(0.9);
  });

  test("leads to other guides, and leaves out decision records", async () => {
    openConsole("/guides/console");
    const article = within(await screen.findByRole("article"));
    expect(article.getAllByRole("link", { name: "public address" })[0]?.getAttribute("href")).toBe(
      "/console/guides/configuration",
    );
    expect(article.queryByRole("link", { name: "0141" })).toBeNull();
    expect(article.queryByText(/0141/)).toBeNull();
  });

  test("calls other guides by their names, not by their files", async () => {
    openConsole("/guides/access");
    const article = within(await screen.findByRole("article"));
    expect(article.getAllByRole("link", { name: t("guides.names.gateway") })[0]?.getAttribute("href")).toMatch(
      /^\/console\/guides\/gateway/,
    );
    expect(article.queryByRole("link", { name: /\.md$/ })).toBeNull();
  });

  test("does not break options at their hyphens", async () => {
    openConsole("/guides/access");
    const article = within(await screen.findByRole("article"));
    const option = article.getAllByText("--override-reason")[0];
    expect(option?.className).toContain("whole-word");
  });

  test("leads to the page of an error", async () => {
    openConsole("/guides/access");
    const article = within(await screen.findByRole("article"));
    expect(article.getByRole("link", { name: "access_tests_broken" }).getAttribute("href")).toBe(
      "/errors/access_tests_broken",
    );
  });

  test("leads to the list of all errors", async () => {
    openConsole("/guides/operations");
    const article = within(await screen.findByRole("article"));
    expect(article.getByRole("link", { name: "error code" }).getAttribute("href")).toBe("/errors");
  });

  test("that does not exist is said to be unknown", async () => {
    openConsole("/guides/nonsense");
    await findTitle(t("guides.unknown.title"));
  });
});

test("the list of guides opens each one by the title of its document", async () => {
  const user = openConsole("/guides");
  await findTitle(t("guides.title"));
  for (const name of guideNames) expect(await readGuide(name)).toMatch(/^# \S/);
  await user.click(within(screen.getByRole("main")).getByRole("link", { name: t("guides.names.webhooks") }));
  await findTitle(t("guides.names.webhooks"));
  expect(currentPath()).toBe("/guides/webhooks");
});
