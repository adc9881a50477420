import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addRecords, pages } from "./console-pages.ts";
import {
  accessibilityProblems,
  accessibilityProblemsInBothThemes,
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  picture,
  takesPictures,
  type Visit,
} from "./console-world.ts";
import { controlsThatWrite, heading, isQuiet, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const roles = ["OWNER", "AUDITOR"] as const;
type Role = (typeof roles)[number];
const themes = ["dark", "light"] as const;

/** Defects of the pages for one role. Each page is shown once, because loading takes longer than checking. */
interface Findings {
  /** Accessibility problems of any severity, for the owner in both themes. */
  readonly accessibility: string[];
  /** Owner only: pages that scroll sideways on a narrow screen. */
  readonly wide: string[];
  /** Owner only: content that leaves its panel on a screen of 1024 pixels. */
  readonly outside: string[];
  /** Owner only: words of tables that break on a screen of 1024 or of 390 pixels. */
  readonly broken: string[];
  /** Owner only: tables that hide a part of themselves on a screen of 390 pixels. */
  readonly clipped: string[];
  /** Auditor only: controls that write, even if the address asks for a form. */
  readonly writing: string[];
}

describe.runIf(hasBrowser)("every page", () => {
  let world: ConsoleWorld;
  const keys = new Map<string, string>();
  beforeAll(async () => {
    world = await openConsoleWorld();
    for (const role of roles) keys.set(role, await world.keyOf(role));
    await addRecords(world);
  });
  afterAll(() => world?.close());

  const settled = async (visit: Visit, title?: string) => {
    const { page } = visit;
    await (title === undefined ? page.locator("h1") : heading(visit, title)).waitFor();
    await isQuiet(visit);
  };

  /** The previous page, a list, has a heading, too. */
  const isOne = async ({ page }: Visit, path: string) => {
    await page.waitForURL(`**/${path}/*`);
    await page.locator(`main .mantine-Breadcrumbs-root a[href$="/${path}"]`).waitFor();
  };

  /** Shows the pages to look at, one after the other, for the auditor also at addresses that ask for a form. */
  const walk = async (visit: Visit, role: Role, look: (name: string) => Promise<void>) => {
    for (const { path, title, records } of pages) {
      await visit.open(role === "OWNER" ? `/${path}` : `/${path}?new=1`);
      await settled(visit, title);
      await look(path);
      if (records === undefined) continue;
      await visit.page.locator(`main a[href*="/${path}/"]`).first().click();
      await isOne(visit, path);
      await settled(visit);
      await look(`${path}-one`);
    }
  };

  const examine = async (role: Role): Promise<Findings> => {
    const visit = await world.visit({ key: keys.get(role) ?? "" });
    const { page } = visit;
    const found: Findings = { accessibility: [], wide: [], outside: [], broken: [], clipped: [], writing: [] };
    await walk(visit, role, async (name) => {
      // An auditor's pages have no colours of their own.
      const problems = role === "OWNER" ? accessibilityProblemsInBothThemes : accessibilityProblems;
      found.accessibility.push(...(await problems(page)).map((problem) => `${name}: ${problem}`));
      for (const theme of takesPictures ? themes : []) {
        await page.emulateMedia({ colorScheme: theme });
        await picture(page, `${name}-${role.toLowerCase()}-${theme}`);
      }
      if (role === "AUDITOR") {
        found.writing.push(...(await controlsThatWrite(visit)).map((control) => `${name}: ${control}`));
        return;
      }
      const { width, height } = page.viewportSize() ?? expect.fail("the page has no size");
      await page.setViewportSize({ width: 1024, height });
      await settled(visit);
      await picture(page, `${name}-1024`);
      found.outside.push(...(await outsideOfPanels(page)).map((problem) => `${name}: ${problem}`));
      found.broken.push(...(await brokenWords(page)).map((word) => `${name} at 1024: ${word}`));
      await page.setViewportSize({ width: 390, height });
      await settled(visit);
      found.broken.push(...(await brokenWords(page)).map((word) => `${name} at 390: ${word}`));
      found.clipped.push(...(await clippedTables(page)).map((table) => `${name}: ${table}`));
      await page.setViewportSize({ width: 360, height });
      await settled(visit);
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      await picture(page, `${name}-narrow`);
      const excess = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (excess > 0) found.wide.push(`${name} by ${excess}`);
      await page.setViewportSize({ width, height });
    });
    await visit.leave();
    return found;
  };
  /** Elements that reach beyond the right edge of their panel, except inside an area that scrolls. */
  const outsideOfPanels = (page: Page) =>
    page.evaluate<string[]>(`[...document.querySelectorAll("main section[aria-label]")].flatMap((panel) => {
      const edge = panel.getBoundingClientRect().right + 1;
      const scrolls = (element) => {
        for (let at = element.parentElement; at !== null && at !== panel; at = at.parentElement)
          if (getComputedStyle(at).overflowX !== "visible") return true;
        return false;
      };
      return [...panel.querySelectorAll("*")]
        .filter((element) => element.getBoundingClientRect().right > edge && !scrolls(element))
        .slice(0, 1)
        .map((element) => panel.getAttribute("aria-label") + ": " + element.outerHTML.slice(0, 120));
    })`);

  /** Words of tables that stand on two lines, except those that are longer than a line of a phone. */
  const brokenWords = (page: Page) =>
    page.evaluate<string[]>(`[...document.querySelectorAll("main table td")].flatMap((cell) => {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      const broken = [];
      for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
        if (text.parentElement.closest(".unseen, pre, code") !== null) continue;
        // A line may end after a hyphen.
        for (const { 0: word, index } of text.data.matchAll(/[^\\s-]+-?/g)) {
          if (word.length > 30) continue;
          const range = document.createRange();
          range.setStart(text, index);
          range.setEnd(text, index + word.length);
          const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
          if (lines.size > 1) broken.push(word + " in " + cell.textContent.slice(0, 80));
        }
      }
      return broken.slice(0, 1);
    })`);
  /** Tables that are wider than the area around them. */
  const clippedTables = (page: Page) =>
    page.evaluate<string[]>(`[...document.querySelectorAll("main table")].flatMap((table) => {
      const area = table.parentElement;
      const excess = area.scrollWidth - area.clientWidth;
      return area.clientWidth > 0 && excess > 1 ? [(area.getAttribute("aria-label") ?? table.innerText.slice(0, 60)) + " by " + excess] : [];
    })`);

  const examinations = new Map<Role, Promise<Findings>>();
  const findingsOf = (role: Role): Promise<Findings> => {
    const begun = examinations.get(role) ?? examine(role);
    examinations.set(role, begun);
    return begun;
  };

  test.each(roles)("has no accessibility problems for the key of an %s", async (role) => {
    expect((await findingsOf(role)).accessibility).toEqual([]);
  });

  test("has no accessibility problems before sign-in", async () => {
    for (const theme of themes) {
      const visit = await world.visit({ theme });
      await visit.open("/");
      await settled(visit, "Sign in to Gatehouse");
      expect(await accessibilityProblems(visit.page)).toEqual([]);
      await picture(visit.page, `sign-in-${theme}`);
      await visit.leave();
    }
  });

  test("needs no sideways scrolling on a screen of 360 pixels", async () => {
    expect((await findingsOf("OWNER")).wide).toEqual([]);
  });

  test("keeps its content inside its panels on a screen of 1024 pixels", async () => {
    expect((await findingsOf("OWNER")).outside).toEqual([]);
  });

  test("breaks no word of a table on screens of 1024 and of 390 pixels", async () => {
    expect((await findingsOf("OWNER")).broken).toEqual([]);
  });

  test("shows whole tables on a screen of 390 pixels", async () => {
    expect((await findingsOf("OWNER")).clipped).toEqual([]);
  });

  test("offers an auditor no control that writes", async () => {
    expect((await findingsOf("AUDITOR")).writing).toEqual([]);
  });
});
