/** The graph of who reaches what by which policy, and access by address. */
import type { Locator, Page } from "playwright-core";
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

if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);

describe.runIf(hasBrowser)("an administrator who examines access", () => {
  let world: ConsoleWorld;
  const keys = new Map<string, string>();
  beforeAll(async () => {
    world = await openConsoleWorld();
    for (const role of ["OWNER", "AUDITOR"] as const) keys.set(role, await world.keyOf(role));
  });
  afterAll(() => world?.close());

  const visitAs = (role: "OWNER" | "AUDITOR", options: { width?: number } = {}) =>
    world.visit({ ...options, key: keys.get(role) ?? "" });
  const button = ({ page }: Visit, name: string | RegExp) => page.getByRole("button", { name });
  const nodes = (page: Page) => page.locator(".graph-node");
  const focusedName = (page: Page) =>
    page.evaluate<string>("document.activeElement?.dataset.key && document.activeElement.textContent || ''");
  /**
   * Turns the wheel over the graph until the node is visible. A graph that fits its frame scrolls with the page. If a
   * taller one is moved by other means, such as by the browser, it immediately moves back.
   */
  const wheelTo = async ({ page }: Visit, node: Locator) => {
    const frame = page.locator(".access-graph");
    const middleOf = async (of: Locator) => {
      const box = await of.boundingBox();
      return box === null ? Number.NaN : box.y + box.height / 2;
    };
    await frame.hover({ position: { x: 20, y: 20 } });
    const isThere = async () => {
      const below = (await middleOf(node)) - (page.viewportSize()?.height ?? 0) / 2;
      if (Math.abs(below) < 300) return true;
      await page.mouse.wheel(0, below);
      return false;
    };
    await expect.poll(isThere).toBe(true);
  };
  const lines = (page: Page, appearance: string) => page.locator(`.graph-line[data-appearance="${appearance}"]`);
  /** The number of drawn edges. */
  const edgesOf = async (page: Page, denies: string) => {
    const drawn = await page.locator(`.graph-line[data-denies="${denies}"]`).all();
    const counts = await Promise.all(drawn.map((lane) => lane.getAttribute("data-edges")));
    return counts.reduce((sum, count) => sum + Number(count), 0);
  };
  const isQuiet = (page: Page) => expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
  const shownNodes = (page: Page) => expect.poll(() => nodes(page).allTextContents());
  const idOf = async (path: string, name: string): Promise<string> =>
    (await world.client.get(`/tenants/${path}?filter[name]=${encodeURIComponent(name)}`)).body.data[0].id;

  test.each(["OWNER", "AUDITOR"] as const)("sees the complete graph as %s, including denied paths", async (role) => {
    const visit = await visitAs(role, { width: 1440 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await nodes(page).getByText("Contractors stay out of production").waitFor();
    await isQuiet(page);
    expect(await edgesOf(page, "false")).toBeGreaterThan(10);
    expect(await edgesOf(page, "true")).toBe(7);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture(page, `access-graph-${role.toLowerCase()}`);
    await page.getByRole("radiogroup", { name: "Show" }).getByText("Denied").click();
    await page.waitForURL(/show=denied/);
    await expect.poll(() => edgesOf(page, "false")).toBe(0);
    await expect.poll(() => edgesOf(page, "true")).toBe(7);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture(page, `access-graph-denied-${role.toLowerCase()}`);
    await page.getByText("List", { exact: true }).click();
    await page.getByRole("cell", { name: /Kubernetes production/ }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture(page, `access-graph-list-${role.toLowerCase()}`);
    await visit.leave();
  });

  test.each(["light", "dark"] as const)("reads the colours of the %s graph in its legend", async (theme) => {
    const visit = await world.visit({ theme, width: 1440, key: keys.get("OWNER") ?? "" });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await nodes(page).getByText("Contractors stay out of production").waitFor();
    const legend = () =>
      page.evaluate<readonly string[]>(
        `["Allowed", "Denied"].map((name) => {
          const words = [...document.querySelectorAll("p")].find(({ textContent }) => textContent === name);
          return getComputedStyle(words.previousElementSibling).stroke;
        })`,
      );
    const edges = () =>
      page.evaluate<readonly string[]>(
        `["false", "true"].map((denies) => {
          const node = document.querySelector('.graph-node[data-kind="policy"]' + (denies === "true" ? "[data-denies=true]" : ":not([data-denies=true])"));
          return getComputedStyle(node).borderInlineStartColor;
        })`,
      );
    await expect.poll(legend).toEqual(await edges());
    await visit.leave();
  });

  test("navigates the graph by keyboard, and opens its links", async () => {
    const visit = await visitAs("OWNER", { width: 1440 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await button(visit, /^Group Engineering/).focus();
    await page.keyboard.press("ArrowRight");
    expect(await focusedName(page)).toContain("Engineering tools");
    await page.keyboard.press("ArrowDown");
    expect(await focusedName(page)).toContain("Books in office hours");
    await page.keyboard.press("Home");
    expect(await focusedName(page)).toContain("Contractors stay out of production");
    await page.keyboard.press("ArrowLeft");
    expect(await focusedName(page)).toContain("User ");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    await button(visit, /^Group Engineering/).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/focus=group/);
    const bar = page.getByRole("region", { name: "Graph filter" });
    await bar.getByText(/2\spolicies allow, 0\spolicies deny/).waitFor();
    // The same key, pressed again, opens the group.
    expect(await focusedName(page)).toContain("Engineering");
    await page.keyboard.press("Enter");
    await button(visit, /^User engineer-01@example.com/).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/focus=user/);
    await page.locator(".graph-heading", { hasText: "Selected" }).waitFor();
    // Current decisions, beside the effects of policies.
    await button(visit, /^Resource Wiki Allowed now/).waitFor();
    await isQuiet(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-graph-user");
    await button(visit, /^Resource Wiki Allowed now/).press("Enter");
    await page
      .getByRole("region", { name: "Decision" })
      .getByText(/^Allowed/)
      .waitFor();
    await page.goBack();
    await button(visit, "Show everything").last().click();
    await nodes(page).getByText("Contractors stay out of production").waitFor();
    await visit.leave();
  });

  test("sees the lines to gateways muted until one of their nodes is selected, and all lines with one weight", async () => {
    const visit = await visitAs("OWNER", { width: 1440 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await nodes(page).getByText("Contractors stay out of production").waitFor();
    await isQuiet(page);
    expect(await lines(page, "muted").count()).toBeGreaterThan(2);
    const weights = `[...new Set([...document.querySelectorAll(".graph-line path")].map((line) => {
      const { strokeWidth, opacity, strokeOpacity } = getComputedStyle(line);
      return [strokeWidth, opacity, strokeOpacity].join();
    }))]`;
    expect(await page.evaluate<readonly string[]>(weights)).toEqual(["1.5px,1,1"]);
    await button(visit, /^Gateway Cloud/).focus();
    await expect.poll(() => lines(page, "lit").count()).toBeGreaterThan(2);
    expect(await lines(page, "muted").count()).toBe(0);
    expect(await page.evaluate<readonly string[]>(weights)).toEqual(["1.5px,1,1"]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/focus=gateway/);
    await page.mouse.move(0, 0);
    await page.getByRole("combobox", { name: "Filter the graph" }).focus();
    await expect.poll(() => lines(page, "plain").count()).toBeGreaterThan(2);
    expect(await lines(page, "muted").count()).toBe(0);
    await visit.leave();
  });

  test("finds one user, and shares a link to the result", async () => {
    const visit = await visitAs("OWNER", { width: 1440 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    const field = page.getByRole("combobox", { name: "Filter the graph" });
    await field.fill("engineer-05");
    await page.getByRole("option", { name: "engineer-05@example.com" }).click();
    await page.waitForURL(/focus=user/);
    await page.getByText(/policies allow, 1\spolicy denies/).waitFor();
    await button(visit, "Copy link").click();
    await button(visit, "Copied").waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(link).toBe(page.url());
    const shown = await nodes(page).allTextContents();
    const other = await visitAs("AUDITOR", { width: 1440 });
    await other.page.goto(link);
    await shownNodes(other.page).toEqual(shown);
    await other.leave();
    await page.getByRole("link", { name: "What they can reach" }).click();
    await page.getByRole("region", { name: /^\d+ results?$/ }).waitFor();
    await visit.leave();
  });

  test("reads the same as a list on a screen of 360 pixels", async () => {
    const visit = await visitAs("AUDITOR", { width: 360 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await page
      .getByRole("list", { name: "Access as a list" })
      .getByRole("link", { name: "Personnel files" })
      .first()
      .waitFor();
    await isQuiet(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-graph-narrow");
    expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.getByText("Drawing", { exact: true }).click();
    await nodes(page).first().waitFor();
    expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await picture(page, "access-graph-narrow-drawn");
    await visit.leave();
  });

  test("loads its drawing code only on pages that draw it", async () => {
    const visit = await visitAs("OWNER", { width: 1440 });
    const { page } = visit;
    const scripts: string[] = [];
    page.on("request", (request) => {
      if (request.resourceType() === "script") scripts.push(request.url());
    });
    await visit.open("/access");
    await page.getByRole("region", { name: "Query" }).waitFor();
    expect(scripts.filter((url) => url.includes("graph"))).toEqual([]);
    await page.getByText("Graph", { exact: true }).click();
    await nodes(page).first().waitFor();
    expect(scripts.filter((url) => url.includes("graph")).length).toBeGreaterThan(0);
    await visit.leave();
  });

  test("opens nested groups step by step if there are many records", async () => {
    const groups = ["Engineering", "Sales", "Finance"];
    const ids = await Promise.all(groups.map((name) => idOf("groups", name)));
    const gateways = (await world.client.get("/tenants/gateways")).body.map(({ id }: { readonly id: string }) => id);
    for (let index = 0; index < 60; index++) {
      const resource = await world.client.post("/tenants/resources", {
        name: `Machine ${index}`,
        type: "PRIVATE",
        addresses: [{ address: `192.0.2.${index + 1}`, protocols: [] }],
      });
      expect(resource.status).toBe(201);
      const body = { loadBalancingMode: "MANUAL", gateways: [gateways[index % 2]] };
      expect(
        (await world.client.post(`/tenants/resources/${resource.body.id}/loadBalancing`, body)).status,
      ).toBeLessThan(300);
      const policy = await world.client.post("/tenants/policies", {
        name: `Machine ${index} for some`,
        type: "PRIVATE",
        action: index % 7 !== 0,
        groups: [ids[index % 3]],
        resources: [resource.body.id],
      });
      expect(policy.status).toBe(201);
    }
    const visit = await visitAs("OWNER", { width: 1440 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await button(visit, /^Policies 26 to 50/).click();
    await page.waitForURL(/open=p\.1/);
    await button(visit, /^Policy Machine 20 for some/).waitFor();
    const column = page.locator('.graph-node[data-kind="policy"]');
    await expect.poll(() => column.count()).toBe(20);
    await wheelTo(visit, button(visit, "and 5 more"));
    await button(visit, "and 5 more").click();
    await button(visit, "20 earlier").waitFor();
    await expect.poll(() => column.count()).toBe(5);
    const many = button(visit, /^3\d resources behind/).first();
    await wheelTo(visit, many);
    await many.click();
    await button(visit, /^and 1\d more$/).waitFor();
    expect(await nodes(page).count()).toBeLessThan(80);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-graph-large");
    const shown = await nodes(page).allTextContents();
    await page.reload();
    await shownNodes(page).toEqual(shown);
    await page.goBack();
    await expect.poll(() => page.url()).not.toMatch(/r\./);
    await visit.leave();
  });

  test("searches by address and port for subjects with access", async () => {
    const visit = await visitAs("OWNER");
    const { page } = visit;
    const user = (await world.client.get("/tenants/users?filter[email]=seller-01@example.com")).body.data[0].id;
    await visit.open(`/access?user=${user}`);
    await page.getByRole("combobox", { name: "Destination" }).click();
    await page.getByRole("option", { name: "an address" }).click();
    await page.getByText("Choose a user, a device or both, and enter an address.").waitFor();
    await page.getByRole("textbox", { name: "Address", exact: true }).fill("wiki.corp.example.com");
    const decision = page.getByRole("region", { name: "Decision" });
    await decision.getByRole("link", { name: "Wiki" }).waitFor();
    await decision.getByText(/^Allowed/).waitFor();
    await page.getByRole("combobox", { name: "Protocol" }).click();
    await page.getByRole("option", { name: "TCP" }).click();
    await page.getByRole("textbox", { name: "Port" }).fill("22");
    await decision.getByText("The resource does not offer this protocol and port.").first().waitFor();
    await page.getByRole("textbox", { name: "Port" }).fill("443");
    await decision.getByText(/^Allowed/).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-address");
    expect(page.url()).toMatch(/to=address.*address=wiki.corp.example.com.*port=443/);
    const other = await visitAs("AUDITOR");
    await other.page.goto(page.url());
    await other.page
      .getByRole("region", { name: "Decision" })
      .getByText(/^Allowed/)
      .waitFor();
    await other.leave();
    await page.getByRole("tab", { name: "Who can reach it?" }).click();
    const found = page.getByRole("region", { name: "Who can reach it" });
    await found.getByRole("link", { name: "Intranet for everyone" }).first().waitFor();
    await button(visit, "Next page").click();
    await page.waitForURL(/after=/);
    await button(visit, "First page").waitFor();
    await page.getByText("Without a device").click();
    await found
      .getByRole("link", { name: /@example\.com/ })
      .first()
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-address-who");
    await visit.leave();
  });

  test("sees who reached a resource on a past date, and that a future date is unknown", async () => {
    const resource = await idOf("resources", "Payroll");
    const { body: before } = await world.client.get("/tenants/events?sort=-position&limit=1");
    const made = await world.client.post("/tenants/policies", {
      name: "Payroll for all",
      type: "PRIVATE",
      action: true,
      allUsers: true,
      resources: [resource],
    });
    expect(made.status).toBe(201);
    const visit = await visitAs("AUDITOR");
    const { page } = visit;
    await visit.open(`/access?view=who&resource=${resource}`);
    await page.getByRole("link", { name: "Payroll for all" }).first().waitFor();
    await visit.open(`/access?view=who&resource=${resource}&at=${before.data[0].createdAt}`);
    await page.getByText("Uses the configuration of").last().waitFor();
    await isQuiet(page);
    expect(await page.getByRole("link", { name: "Payroll for all" }).count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-who-past");
    await visit.open(`/access?view=who&resource=${resource}&at=2041-01-01T10:00:00Z`);
    await page.getByText("The configuration on that date is not known yet.").waitFor();
    await visit.leave();
  });
});
