/** Parts with one role look the same on every page: introductions, and the buttons inside panels. */
import { screen, waitFor, within } from "@testing-library/dom";
import { beforeEach, describe, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { pageSets } from "../pages/all.ts";
import { findDialog, findTitle, openConsole } from "./console-page.tsx";
import { mockApi } from "./mock-api.ts";
import { newId, pageOf, sample } from "./sample.ts";

const lists = pageSets.map(({ path }) => `/${path}`);
const details = pageSets.filter(({ detail }) => detail !== undefined).map(({ path }) => `/${path}/${newId()}`);
const creations = pageSets.filter(({ create }) => create !== undefined).map(({ path }) => `/${path}?new=1`);

// The page of an event reads it from the list of events.
beforeEach(() => mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { operation: "createGroup" })])));

/** The paragraphs of a part of the page, apart from the texts of its fields and notices. */
function paragraphsOf(part: Element): readonly Element[] {
  return [...part.querySelectorAll("p")].filter(
    (text) =>
      text.closest("[class*=InputWrapper], [class*=Alert], [role=group], [role=radiogroup], .form-section, label") ===
      null,
  );
}

const isIntro = (text: Element) => text.classList.contains("intro");
const isBefore = (text: Element, other: Element) =>
  (text.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;

async function introductionsOf(path: string): Promise<readonly Element[]> {
  openConsole(path);
  await findDialog();
  const body = document.querySelector("[role=dialog] [class*=Modal-body]") ?? expect.fail("the dialog is empty");
  const first = body.querySelector("input, textarea, button");
  return paragraphsOf(body).filter((text) => first === null || isBefore(text, first));
}

describe("the introduction of a form", () => {
  test.each(creations)("%s has the style of introductions", async (path) => {
    const introductions = await introductionsOf(path);
    expect(introductions.filter((text) => !isIntro(text)).map(({ textContent }) => textContent)).toEqual([]);
  });

  test.each(["/devices?new=1", "/identity-providers?new=1", "/resources?new=1"])("%s is there", async (path) => {
    expect(await introductionsOf(path)).toHaveLength(1);
  });
});

async function panelsOf(path: string): Promise<readonly Element[]> {
  openConsole(path);
  await findTitle(/.*/);
  await waitFor(() => expect(document.querySelectorAll("main [aria-busy=true]")).toHaveLength(0));
  return [...document.querySelectorAll("main section.panel")];
}

/** A button beside a field is as tall as the field, and the buttons of a form are as tall as those of the page. */
function mayBeTall(button: Element): boolean {
  const isBesideField = [...(button.parentElement?.children ?? [])].some((other) =>
    other.matches("[class*=InputWrapper]"),
  );
  return isBesideField || button.closest(".form-actions, form") !== null;
}

/** The page of the design system shows every size. */
const pagesWithPanels = [...lists, ...details].filter((path) => path !== "/design");

describe("the panels of", () => {
  test.each(pagesWithPanels)("%s have small buttons", async (path) => {
    const buttons = (await panelsOf(path)).flatMap((panel) => [
      ...panel.querySelectorAll("[class*=mantine-Button-root]"),
    ]);
    const tall = buttons.filter((button) => button.getAttribute("data-size") !== "xs" && !mayBeTall(button));
    expect(tall.map(({ textContent }) => textContent)).toEqual([]);
  });

  test.each([
    ["/settings", t("settings.signingKey.title")],
    ["/configuration", t("configuration.export.title")],
    [`/events/${newId()}`, t("events.revert.title")],
    [`/gateways/${newId()}`, t("gateways.deploy.title")],
  ])("%s introduce a button in the style of introductions", async (path, title) => {
    mockApi.answer(
      "get",
      "/tenants/gateways/{id}",
      sample("Gateway", { status: "ONLINE", deployedOn: "2026-03-02T09:00:00.000Z" }),
    );
    await panelsOf(path);
    const panel = await screen.findByRole("region", { name: title });
    await within(panel).findAllByRole("button");
    const texts = paragraphsOf(panel);
    expect(texts).toHaveLength(1);
    expect(texts.every(isIntro)).toBe(true);
  });
});
