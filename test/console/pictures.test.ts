/** The pages in the pictures of documents, in a network that is in use. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  type ConsoleWorld,
  documentPicture,
  hasBrowser,
  openConsoleWorld,
  type Visit,
  withoutBrowser,
} from "./console-world.ts";
import type { DeployedGateway } from "./deployed-gateway.ts";
import { putInUse } from "./network-in-use.ts";

if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);

describe.runIf(hasBrowser)("a network in use", () => {
  let world: ConsoleWorld;
  let owner: string;
  const connected: DeployedGateway[] = [];
  beforeAll(async () => {
    world = await openConsoleWorld();
    owner = await world.keyOf("OWNER");
    connected.push(...(await putInUse(world)));
  });
  afterAll(async () => {
    for (const gateway of connected) await gateway.stop();
    await world?.close();
  });

  const idOf = async (path: string, name: string): Promise<string> =>
    (await world.client.get(`/tenants/${path}?filter[name]=${encodeURIComponent(name)}`)).body.data[0].id;
  const settled = async ({ page }: Visit) => {
    await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    // Ends hover effects and transitions.
    await page.mouse.move(0, 0);
    await page.evaluate("document.fonts.ready.then(() => undefined)");
  };
  const choose = async ({ page }: Visit, field: string, name: string) => {
    await page.getByRole("combobox", { name: field, exact: true }).fill(name);
    await page.getByRole("option", { name, exact: true }).click();
  };

  test.each([
    ["overview", "light", 1280],
    ["overview-dark", "dark", 1280],
    ["overview-narrow", "light", 360],
  ] as const)("the overview: %s", async (name, theme, width) => {
    const visit = await world.visit({ key: owner, theme, width });
    await visit.open("/overview");
    const { page } = visit;
    // A narrow screen hides the configurations.
    const configuration = page.getByRole("region", { name: "Gateways", exact: true }).getByText("In sync").first();
    await configuration.waitFor({ state: "attached" });
    await page
      .getByRole("region", { name: "Devices", exact: true })
      .getByText(/online$/)
      .waitFor();
    await settled(visit);
    await documentPicture(page, name);
    await visit.leave();
  });

  test("policies and the effects of their changes", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/policies");
    await page.getByRole("link", { name: "Engineering tools" }).waitFor();
    await settled(visit);
    await documentPicture(page, "policies");
    await page.getByRole("link", { name: "Books in office hours" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await choose(visit, "Groups", "Support");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Review", exact: true }).click();
    await page.getByRole("region", { name: "Effect of this change" }).getByRole("cell").first().waitFor();
    await settled(visit);
    await documentPicture(page, "policy-preview");
    await visit.leave();
  });

  test("the explanation of a denial", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/access");
    await choose(visit, "User", "engineer-01@example.com");
    await choose(visit, "Resource", "Personnel files");
    await page.getByRole("region", { name: "Decision" }).getByText("Denied").waitFor();
    await page.getByRole("region", { name: "Evaluated policies" }).waitFor();
    await settled(visit);
    await documentPicture(page, "access");
    await visit.leave();
  });

  test("the access graph", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open(`/access?view=graph&focus=group:${await idOf("groups", "Engineering")}`);
    await page.locator(".graph-node").getByText("Engineering tools").waitFor();
    await settled(visit);
    await documentPicture(page, "graph");
    await visit.leave();
  });

  test("a gateway", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/gateways?q=Frankfurt 1");
    await page.getByRole("link", { name: "Frankfurt 1" }).click();
    await page.getByRole("region", { name: "Configuration" }).getByText("In sync").waitFor();
    await settled(visit);
    await documentPicture(page, "gateway");
    await visit.leave();
  });

  test("events and their effects on access", async () => {
    const made = await world.client.patch(`/tenants/policies/${await idOf("policies", "Office systems")}`, {
      groups: [await idOf("groups", "Sales"), await idOf("groups", "Support")],
    });
    expect(made.status, made.text).toBe(200);
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/events");
    await page.locator("tbody a").first().waitFor();
    await settled(visit);
    await documentPicture(page, "events", 230_000);
    await page.locator("tbody a").first().click();
    await page.getByRole("region", { name: "Effect on access" }).getByText("Lost:").first().waitFor();
    await settled(visit);
    await documentPicture(page, "event");
    await visit.leave();
  });
});
