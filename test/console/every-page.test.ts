import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  picture,
  seriousProblems,
  withoutBrowser,
} from "./console-world.ts";
import { controlsThatWrite } from "./story-world.ts";

const lists = [
  ["overview", "Overview"],
  ["users", "Users"],
  ["groups", "Groups"],
  ["devices", "Devices"],
  ["gateways", "Gateways"],
  ["resources", "Resources"],
  ["addresses", "Addresses"],
  ["protocols", "Protocols"],
  ["access", "Access"],
  ["policies", "Policies"],
  ["admission-rules", "Admission rules"],
  ["access-tests", "Access tests"],
  ["roles", "Roles"],
  ["api-keys", "API keys"],
  ["webhooks", "Webhooks"],
  ["events", "Events"],
] as const;
const details = [
  "users",
  "groups",
  "devices",
  "gateways",
  "resources",
  "addresses",
  "protocols",
  "policies",
  "admission-rules",
  "roles",
  "api-keys",
  "webhooks",
  "events",
] as const;

if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);

describe.runIf(hasBrowser)("every page", () => {
  let world: ConsoleWorld;
  const keys = new Map<string, string>();
  beforeAll(async () => {
    world = await openConsoleWorld();
    for (const role of ["OWNER", "AUDITOR"] as const) keys.set(role, await world.keyOf(role));
    await world.client.must.post("/tenants/webhooks", { url: "https://hooks.example.com/gatehouse", active: false });
  });
  afterAll(() => world?.close());

  const settled = async (page: Page, title?: string) => {
    await (title === undefined ? page.locator("h1") : page.getByRole("heading", { level: 1, name: title })).waitFor();
    await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
  };

  /** The previous page, a list, has a heading, too. */
  const isOne = async (page: Page, path: string) => {
    await page.waitForURL(`**/${path}/*`);
    await page.locator(`main .mantine-Breadcrumbs-root a[href$="/${path}"]`).waitFor();
  };

  describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
    test.each(["OWNER", "AUDITOR"])("has no serious accessibility problems for the key of an %s", async (role) => {
      const visit = await world.visit({ theme, key: keys.get(role) ?? "" });
      const { page } = visit;
      const found: string[] = [];
      const look = async (name: string) => {
        found.push(...(await seriousProblems(page)).map((problem) => `${name}: ${problem}`));
        await picture(page, `${name}-${role.toLowerCase()}-${theme}`);
      };
      for (const [path, title] of lists) {
        await visit.open(`/${path}`);
        await settled(page, title);
        await look(path);
        if (!details.some((detail) => detail === path)) continue;
        await page.locator(`main a[href*="/${path}/"]`).first().click();
        await isOne(page, path);
        await settled(page);
        await look(`${path}-one`);
      }
      expect(found).toEqual([]);
      await visit.leave();
    });
  });

  test("has no serious accessibility problems before sign-in", async () => {
    for (const theme of ["light", "dark"] as const) {
      const visit = await world.visit({ theme });
      await visit.open("/");
      await settled(visit.page, "Sign in to Gatehouse");
      expect(await seriousProblems(visit.page)).toEqual([]);
      await picture(visit.page, `sign-in-${theme}`);
      await visit.leave();
    }
  });

  test("needs no sideways scrolling on a screen of 360 pixels", async () => {
    const visit = await world.visit({ width: 360, key: keys.get("OWNER") ?? "" });
    const wide: string[] = [];
    const measure = async (name: string) => {
      const excess = await visit.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (excess > 0) wide.push(`${name} by ${excess}`);
    };
    for (const [path, title] of lists) {
      await visit.open(`/${path}`);
      await settled(visit.page, title);
      await picture(visit.page, `${path}-narrow`);
      await measure(path);
      if (!details.some((detail) => detail === path)) continue;
      await visit.page.locator(`main a[href*="/${path}/"]`).first().click();
      await isOne(visit.page, path);
      await settled(visit.page);
      await picture(visit.page, `${path}-one-narrow`);
      await measure(`one of ${path}`);
    }
    expect(wide).toEqual([]);
    await visit.leave();
  });

  test("offers an auditor no control that writes", async () => {
    const visit = await world.visit({ key: keys.get("AUDITOR") ?? "" });
    const { page } = visit;
    for (const [path, title] of lists) {
      await visit.open(`/${path}?new=1`);
      await settled(page, title);
      expect(await controlsThatWrite(visit), path).toEqual([]);
      if (!details.some((detail) => detail === path)) continue;
      await page.locator(`main a[href*="/${path}/"]`).first().click();
      await isOne(page, path);
      await settled(page);
      expect(await controlsThatWrite(visit), `one of ${path}`).toEqual([]);
    }
    await visit.leave();
  });
});
