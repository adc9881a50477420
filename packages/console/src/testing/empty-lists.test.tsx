/** Every empty list says what its records are for, offers one action, and links to a part of a guide that exists. */
import { rolePermissions } from "@gatehouse/contract/permissions";
import { screen, waitFor, within } from "@testing-library/dom";
import { beforeEach, describe, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { pageSets } from "../pages/all.ts";
import { readGuide } from "../pages/guides/guide-texts.ts";
import { headingId } from "../pages/guides/heading-id.ts";
import { type GuideName, guideNames } from "../records/guide-link.tsx";
import { openConsole } from "./console-page.tsx";
import { mockApi } from "./mock-api.ts";
import { newId, sample } from "./sample.ts";

interface Case {
  /** The page whose list is empty. */
  readonly path: string;
  /** The page that the action opens. Absent for records that nobody creates by hand. */
  readonly action?: string;
  /** Whether an auditor may take the action, because it only leads to another page. */
  readonly reads?: boolean;
}

const cases: readonly Case[] = [
  { path: "/users", action: "/users?new=1" },
  { path: "/groups", action: "/groups?new=1" },
  { path: "/devices", action: "/devices?new=1" },
  { path: "/device-approvals", action: "/settings", reads: true },
  { path: "/device-sessions", action: "/devices", reads: true },
  { path: "/enrolment-keys", action: "/enrolment-keys?new=1" },
  { path: "/gateways", action: "/gateways?new=1" },
  { path: "/resources", action: "/publish" },
  { path: "/addresses", action: "/addresses?new=1" },
  { path: "/protocols", action: "/protocols?new=1" },
  { path: "/policies", action: "/policies?type=PRIVATE&new=1" },
  { path: "/policies?type=SAAS", action: "/policies?type=SAAS&new=1" },
  { path: "/policies?type=INTERNET", action: "/policies?type=INTERNET&new=1" },
  { path: "/policies?type=SITETOSITE", action: "/policies?type=SITETOSITE&new=1" },
  { path: "/admission-rules", action: "/admission-rules?new=1" },
  { path: "/access-tests", action: "/access-tests?new=1" },
  { path: "/roles", action: "/users", reads: true },
  { path: "/api-keys", action: "/api-keys?new=1" },
  { path: "/identity-providers", action: "/identity-providers?new=1" },
  { path: "/domains", action: "/domains?new=1" },
  { path: "/webhooks", action: "/webhooks?new=1" },
  { path: `/webhooks/${newId()}`, action: "/events", reads: true },
  { path: "/events", action: "/overview", reads: true },
  { path: "/sign-ins" },
  { path: `/users/${newId()}?tab=access`, action: "/policies?new=1" },
  { path: `/devices/${newId()}?tab=access`, action: "/policies?new=1" },
  { path: `/resources/${newId()}?tab=access`, action: "/policies?new=1" },
  { path: `/groups/${newId()}?tab=access`, action: "/policies?new=1" },
  { path: `/gateways/${newId()}?tab=access`, action: "/policies?new=1" },
];

async function findEmptyList() {
  // A remark on the rows, which goes once the list is known to be empty, can link to the guide too.
  return waitFor(() => {
    const guide = screen.getByRole("link", { name: t("records.guideLink") });
    const list = guide.closest<HTMLElement>("[data-empty-list]");
    if (list === null) throw new Error("The link to the guide is not in an empty list.");
    return { guide, list };
  });
}

const hrefOf = (link: Element) => link.getAttribute("href")?.replace(/^\/console/, "");

describe("the empty list of", () => {
  // An inactive webhook offers to activate it.
  beforeEach(() => mockApi.answer("get", "/tenants/webhooks/{id}", sample("Webhook", { active: true })));

  test.each(cases)("$path explains itself, offers $action, and links to the guide", async ({ path, action }) => {
    openConsole(path);
    const { guide, list } = await findEmptyList();
    const [title, text] = [...list.querySelectorAll(":scope > p")].map((part) => part.textContent ?? "");
    expect(title).toMatch(/\S/);
    // A sentence, which says more than the title.
    expect(text).toMatch(/^\p{Lu}.{20,}\.$/u);
    const actions = within(list)
      .queryAllByRole("link")
      .filter((link) => link !== guide);
    expect(actions.map(hrefOf)).toEqual(action === undefined ? [] : [action]);
    const [, name = "", section = ""] = /^\/guides\/([\w-]+)#(.+)$/.exec(hrefOf(guide) ?? "") ?? [];
    expect(guideNames).toContain(name);
    const headings = (await readGuide(name as GuideName)).matchAll(/^#+ (.+)$/gm); // the line above checks it
    expect([...headings].map(([, heading = ""]) => headingId(heading))).toContain(section);
  });

  test.each(cases)("$path offers a reader no action that writes", async ({ path, action, reads = false }) => {
    mockApi.signIn(rolePermissions.AUDITOR);
    openConsole(path);
    const { guide, list } = await findEmptyList();
    const actions = within(list)
      .queryAllByRole("link")
      .filter((link) => link !== guide);
    expect(actions.map(hrefOf)).toEqual(reads ? [action] : []);
  });
});

/** Pages of records without other records, and the least number of panels that are empty then. */
const panels: readonly (readonly [path: string, least: number])[] = [
  ["users", 4],
  ["groups", 1],
  ["devices", 2],
  ["gateways", 1],
  ["resources", 2],
  ["addresses", 1],
  ["protocols", 1],
  ["admission-rules", 1],
  ["roles", 1],
];

describe("the empty panels of", () => {
  test.each(panels)("%s explain themselves", async (path, least) => {
    openConsole(`/${path}/${newId()}`);
    await waitFor(() =>
      expect(document.querySelectorAll("main [data-empty-list]").length).toBeGreaterThanOrEqual(least),
    );
    for (const panel of document.querySelectorAll("main [data-empty-list]")) {
      const [title, text] = [...panel.querySelectorAll(":scope > p")].map((part) => part.textContent ?? "");
      expect(title).toMatch(/[^.]$/);
      expect(text).toMatch(/^\p{Lu}.{20,}\.$/u);
      for (const link of panel.querySelectorAll("a[href*='/guides/']")) {
        const [, name = "", section = ""] = /^\/guides\/([\w-]+)#(.+)$/.exec(hrefOf(link) ?? "") ?? [];
        const headings = (await readGuide(name as GuideName)).matchAll(/^#+ (.+)$/gm); // an unknown name fails
        expect([...headings].map(([, heading = ""]) => headingId(heading))).toContain(section);
      }
    }
  });
});

describe("no list is forgotten:", () => {
  const sources = import.meta.glob<string>("../pages/*/*.tsx", { query: "?raw", import: "default", eager: true });
  const folders = Object.entries(sources)
    .filter(([path, source]) => source.includes("<RecordList") && !path.endsWith(".test.tsx"))
    .map(([path]) => path.split("/")[2] ?? "");

  test.each([...new Set(folders)])("the lists in %s", (folder) => {
    const pages = pageSets.map(({ path }) => path).filter((path) => path === folder || folder === "sign-in");
    expect(cases.some(({ path }) => pages.some((page) => path.startsWith(`/${page}`)))).toBe(true);
  });

  test("there are lists", () => {
    expect(folders.length).toBeGreaterThan(15);
  });
});
