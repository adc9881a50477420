/** Every dialog and menu of the console is accessible, in both themes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addRecords, pages } from "./console-pages.ts";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  picture,
  type Visit,
} from "./console-world.ts";
import { button, isQuiet, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const creating = pages.filter(({ creates }) => creates === true).map(({ path }) => path);
const changeable = pages.filter(({ records }) => records === "changeable").map(({ path }) => path);

/** Buttons and menu items that act at once, without a dialog. */
const acting = ["Activate", "Deactivate", "Run"];

const overlays = "[role=dialog]:visible, [role=menu]:visible";

describe.runIf(hasBrowser)("every dialog", () => {
  let world: ConsoleWorld;
  let ids: ReadonlyMap<string, string>;
  /** One for all tests, which only open dialogs and close them. A page with an open dialog is loaded again. */
  let visit: Visit;
  beforeAll(async () => {
    world = await openConsoleWorld();
    ids = await addRecords(world);
    visit = await world.visit({ key: await world.keyOf("OWNER") });
  });
  beforeEach(() => visit.expectFailures());
  afterAll(async () => {
    try {
      await visit?.leave();
    } finally {
      await world?.close();
    }
  });

  /** Waits for the dialog or menu that was just opened, and returns its problems. */
  const examine = async (name: string): Promise<readonly string[]> => {
    const { page } = visit;
    await page.locator(overlays).first().waitFor();
    await isQuiet(visit);
    // The pages behind are examined by every-page.test.ts. All dialogs hide the page behind them in the same way.
    const found = await accessibilityProblemsInBothThemes(page, { withPage: name === "new users" });
    await picture(page, `dialog-${name.replaceAll(/\W+/g, "-")}`);
    return found.map((problem) => `${name}: ${problem}`);
  };
  /** Escape closes an open list of options before its dialog. */
  const close = async () => {
    const { page } = visit;
    await expect
      .poll(async () => {
        await page.keyboard.press("Escape");
        return page.locator(overlays).count();
      })
      .toBe(0);
  };

  test("that creates a record has no accessibility problems", async () => {
    const found: string[] = [];
    for (const path of creating) {
      await visit.open(`/${path}?new=1`);
      found.push(...(await examine(`new ${path}`)));
      await close();
    }
    expect(found).toEqual([]);
  });

  test.each(changeable)("on the page of one of %s has no accessibility problems", async (path) => {
    const { page } = visit;
    // The preview of deleting a record that is in use.
    visit.expectFailures(409);
    const id = ids.get(path);
    await visit.open(id === undefined ? `/${path}` : `/${path}/${id}`);
    if (id === undefined) await page.locator(`main a[href*="/${path}/"]`).first().click();
    await page.waitForURL(`**/${path}/*`);
    // The list, which has buttons of its own, is shown until the page of the record is loaded.
    await page.locator(`main .mantine-Breadcrumbs-root a[href$="/${path}"]`).waitFor();
    const buttons = page.locator("main .actions button");
    await buttons.last().waitFor();
    await isQuiet(visit);
    const found: string[] = [];
    let opened = 0;
    for (const name of await buttons.allTextContents()) {
      if (acting.includes(name)) continue;
      await button(visit, name).click();
      found.push(...(await examine(`${path} ${name}`)));
      opened += 1;
      const items = page.locator("[role=menuitem]:enabled");
      const itemNames = await items.allTextContents();
      await close();
      for (const item of itemNames) {
        if (acting.includes(item)) continue;
        await button(visit, name).click();
        await page.getByRole("menuitem", { name: item, exact: true }).click();
        await page.getByRole("dialog").waitFor();
        await expect.poll(() => page.getByRole("menu").count()).toBe(0);
        found.push(...(await examine(`${path} ${item}`)));
        await close();
      }
    }
    expect(opened).toBeGreaterThan(0);
    expect(found).toEqual([]);
  });

  test("of lists, of the account and of the command palette has no accessibility problems", async () => {
    const { page } = visit;
    await visit.open("/users");
    await page.locator("tbody a").first().waitFor();
    const found: string[] = [];
    for (const name of ["Account", "List options"]) {
      await button(visit, name).click();
      found.push(...(await examine(name)));
      await close();
    }
    await page.locator("tbody a").first().focus();
    await page.keyboard.press("Space");
    found.push(...(await examine("side panel")));
    await close();
    await page
      .getByRole("checkbox", { name: /^Select / })
      .nth(1)
      .check();
    for (const name of ["Add to group", "Deactivate", "Delete"]) {
      await button(visit, name).click();
      found.push(...(await examine(`selected ${name}`)));
      await close();
    }
    await page.keyboard.press("ControlOrMeta+K");
    await page
      .getByPlaceholder(/Search/)
      .last()
      .waitFor();
    found.push(...(await examine("palette")));
    expect(found).toEqual([]);
  });
});
