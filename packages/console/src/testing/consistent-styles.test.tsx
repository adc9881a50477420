/** Parts with one role look the same on every page: introductions, explanations, missing values, buttons of panels. */
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

  test.each(["/devices?new=1", "/enrolment-keys?new=1", "/identity-providers?new=1", "/resources?new=1"])(
    "%s is there",
    async (path) => {
      expect(await introductionsOf(path)).toHaveLength(1);
    },
  );
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

/** Words that stand for a value that a record does not have. */
const missingWords = [
  "–",
  t("common.never"),
  t("common.none"),
  t("devices.noUser"),
  t("deviceSessions.noEnd"),
  t("gateways.fields.deployedNever"),
  t("gateways.settings.noRelay"),
  t("gateways.settings.notSet"),
  t("gateways.sync.none"),
  t("groups.noSessionLifetime"),
];

/** Answers with records that have as few values as possible, and states that need an explanation. */
function answerWithoutValues(): void {
  const user = sample("DeviceUser", { id: newId(), email: "ann@example.com" });
  mockApi.answer("get", "/tenants/devices/{id}", sample("Device", { active: true, status: "Offline", user }));
  mockApi.answer("get", "/tenants/gateways/{id}", sample("Gateway", { status: "ONLINE" }));
  const settings = { ...sample("GatewaySettings"), resolvers: [], domains: [], networks: null, relayPort: null };
  mockApi.answer("get", "/tenants/gateways/{id}/settings", settings);
  const session = sample("ListedDeviceSession", { id: newId(), state: "not-signed-in" });
  mockApi.answer("get", "/tenants/device-sessions", pageOf([session]));
  mockApi.answer("get", "/tenants/devices", pageOf([sample("Device", { id: newId() })]));
}

/** The element that holds a text alone. */
function holdersOf(words: readonly string[]): readonly HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main :is(dd, td), main :is(dd, td) *")].filter((element) =>
    [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && words.includes(node.textContent?.trim() ?? ""),
    ),
  );
}

describe("a value that a record does not have", () => {
  test.each(pagesWithPanels)("%s mutes it", async (path) => {
    answerWithoutValues();
    await panelsOf(path);
    const strong = holdersOf(missingWords).filter((element) => !element.classList.contains("absent"));
    expect(strong.map(({ textContent }) => textContent)).toEqual([]);
  });

  test.each([
    [`/gateways/${newId()}`, t("gateways.settings.notSet")],
    [`/gateways/${newId()}`, t("gateways.settings.noRelay")],
    [`/groups/${newId()}`, t("groups.noSessionLifetime")],
    ["/devices", t("devices.noUser")],
  ])("%s has “%s”", async (path, words) => {
    answerWithoutValues();
    await panelsOf(path);
    await screen.findAllByText(words);
    expect(holdersOf([words]).length).toBeGreaterThan(0);
  });
});

describe("the explanation below a value", () => {
  /** Paragraphs of facts and rows that follow a value. A time alone is another value. */
  const explanations = () =>
    [...document.querySelectorAll("main :is(dd, td, tbody th) > p")].filter(
      (text) => text.previousSibling !== null && text.querySelector("time:only-child") === null,
    );

  test.each(pagesWithPanels)("%s has one style for it", async (path) => {
    answerWithoutValues();
    await panelsOf(path);
    const others = explanations().filter((text) => !text.classList.contains("value-note"));
    expect(others.map(({ textContent }) => textContent)).toEqual([]);
  });

  test.each([
    [`/devices/${newId()}`, /^A device can connect as soon as/],
    [`/gateways/${newId()}`, t("gateways.settings.networksDerived")],
    ["/settings", t("settings.agentsNote")],
  ])("%s has one", async (path, words) => {
    answerWithoutValues();
    await panelsOf(path);
    expect(explanations()).toContain(await screen.findByText(words));
  });
});

describe("the tables of", () => {
  test.each(pagesWithPanels)("%s share the alignment of their cells", async (path) => {
    await panelsOf(path);
    const others = [...document.querySelectorAll("main table")].filter(
      (table) => !table.matches(".record-table, .guide-table"),
    );
    expect(others.map(({ textContent }) => textContent)).toEqual([]);
    const own = [...document.querySelectorAll<HTMLElement>("main :is(th, td)")].filter(
      ({ style }) => style.verticalAlign !== "",
    );
    expect(own).toEqual([]);
  });
});
