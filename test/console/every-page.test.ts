import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  accessibilityProblemsInBothThemes,
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  picture,
  type Visit,
  withoutBrowser,
} from "./console-world.ts";
import { controlsThatWrite } from "./story-world.ts";

const lists = [
  ["overview", "Overview"],
  ["publish", "Publish a resource"],
  ["design", "Design system"],
  ["users", "Users"],
  ["groups", "Groups"],
  ["devices", "Devices"],
  ["device-approvals", "Device approvals"],
  ["device-sessions", "Device sessions"],
  ["enrolment-keys", "Enrolment keys"],
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
  ["identity-providers", "Identity providers"],
  ["domains", "Domains"],
  ["webhooks", "Webhooks"],
  ["events", "Events"],
  ["sign-ins", "Sign-in log"],
  ["configuration", "Configuration"],
  ["settings", "Settings"],
  ["guides", "Guides"],
] as const;
const details = [
  "users",
  "groups",
  "devices",
  "enrolment-keys",
  "gateways",
  "resources",
  "addresses",
  "protocols",
  "policies",
  "admission-rules",
  "roles",
  "api-keys",
  "identity-providers",
  "webhooks",
  "events",
  "guides",
] as const;

if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);

const roles = ["OWNER", "AUDITOR"] as const;
type Role = (typeof roles)[number];
const themes = ["light", "dark"] as const;

/** Defects of the pages for one role. Each page is shown once, because loading takes longer than checking. */
interface Findings {
  /** Accessibility problems of any severity, for the owner in both themes. */
  readonly accessibility: string[];
  /** Owner only: pages that scroll sideways on a narrow screen. */
  readonly wide: string[];
  /** Owner only: content that leaves its panel on a screen of 1024 pixels. */
  readonly outside: string[];
  /** Auditor only: controls that write, also if the address asks for a form. */
  readonly writing: string[];
}

describe.runIf(hasBrowser)("every page", () => {
  let world: ConsoleWorld;
  const keys = new Map<string, string>();
  beforeAll(async () => {
    world = await openConsoleWorld();
    for (const role of roles) keys.set(role, await world.keyOf(role));
    const provider = { name: "Login", issuer: "https://login.example.com", clientId: "gatehouse" };
    await world.client.must.post("/tenants/identity-providers", provider);
    const [{ id: userId }] = (await world.client.must.get("/tenants/users")).body.data;
    await world.client.must.post("/tenants/enrolment-keys", { name: "Servers", userId, tags: ["build"] });
    await world.client.must.post("/tenants/domains", { domain: "example.com" });
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

  /** Follows a link inside the console, which takes a third of the processor time of loading the page. */
  const follow = ({ page }: Visit, path: string) =>
    page.evaluate(`history.pushState(null, "", "/console${path}"); dispatchEvent(new PopStateEvent("popstate"));`);

  /**
   * Shows the pages to look at, one after the other. The owner loads each list by its address. The auditor loads the
   * first one, and follows links to the others, also to addresses that ask for a form.
   */
  const walk = async (visit: Visit, role: Role, look: (name: string) => Promise<void>) => {
    for (const [index, [path, title]] of lists.entries()) {
      if (role === "OWNER") await visit.open(`/${path}`);
      else await (index === 0 ? visit.open(`/${path}?new=1`) : follow(visit, `/${path}?new=1`));
      await settled(visit.page, title);
      await look(path);
      if (!details.some((detail) => detail === path)) continue;
      await visit.page.locator(`main a[href*="/${path}/"]`).first().click();
      await isOne(visit.page, path);
      await settled(visit.page);
      await look(`${path}-one`);
    }
  };

  const examine = async (role: Role): Promise<Findings> => {
    const visit = await world.visit({ key: keys.get(role) ?? "" });
    const { page } = visit;
    const found: Findings = { accessibility: [], wide: [], outside: [], writing: [] };
    await walk(visit, role, async (name) => {
      // An auditor's pages have no colours of their own.
      const problems = role === "OWNER" ? accessibilityProblemsInBothThemes : accessibilityProblems;
      found.accessibility.push(...(await problems(page)).map((problem) => `${name}: ${problem}`));
      for (const theme of ["dark", "light"] as const) {
        await page.emulateMedia({ colorScheme: theme });
        await picture(page, `${name}-${role.toLowerCase()}-${theme}`);
      }
      if (role === "AUDITOR") {
        found.writing.push(...(await controlsThatWrite(visit)).map((control) => `${name}: ${control}`));
        return;
      }
      const { width, height } = page.viewportSize() ?? expect.fail("the page has no size");
      await page.setViewportSize({ width: 1024, height });
      await settled(page);
      await picture(page, `${name}-1024`);
      found.outside.push(...(await outsideOfPanels(page)).map((problem) => `${name}: ${problem}`));
      await page.setViewportSize({ width: 360, height });
      await settled(page);
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
      await settled(visit.page, "Sign in to Gatehouse");
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

  test("offers an auditor no control that writes", async () => {
    expect((await findingsOf("AUDITOR")).writing).toEqual([]);
  });
});
