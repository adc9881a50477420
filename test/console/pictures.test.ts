/** The pages in the pictures of documents, in a network that is in use. */
import { until } from "@gatehouse/server/testing/until";
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
import { connectGateway, type DeployedGateway } from "./deployed-gateway.ts";

if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);

interface Named {
  readonly id: string;
  readonly name: string;
}

describe.runIf(hasBrowser)("a network in use", () => {
  let world: ConsoleWorld;
  let owner: string;
  const connected: DeployedGateway[] = [];
  beforeAll(async () => {
    world = await openConsoleWorld();
    owner = await world.keyOf("OWNER");
    const gateways: readonly (Named & { readonly status: string; readonly token: string })[] = (
      await world.client.get("/tenants/gateways")
    ).body;
    for (const { token, status } of gateways) {
      if (status !== "MAINTENANCE") connected.push(connectGateway(world.url, async () => token));
    }
    const online = async () => {
      const all: readonly { readonly status: string }[] = (await world.client.get("/tenants/gateways")).body;
      return all.filter(({ status }) => status === "ONLINE").length;
    };
    await until("the gateways are ONLINE", async () => (await online()) === connected.length);
    for (const [index, { agent }] of connected.entries()) {
      await until("it holds a configuration", () => agent.held !== undefined);
      const peers = Object.entries(agent.held?.content.peers ?? {}).filter(([, { kind }]) => kind === "device");
      agent.peers = peers
        .filter((_, place) => place % 5 === index)
        .map(([peer]) => ({ peer, lastHandshake: Date.now(), receivedBytes: 0, sentBytes: 0 }));
    }
    const devicesOnline = async () => {
      const { data } = (await world.client.get("/tenants/devices?limit=100")).body;
      return data.some(({ status }: { readonly status: string }) => status === "Online");
    };
    await until("devices are Online", devicesOnline, 40_000);
    for (const [name, subject, resource] of [
      ["Contractors never reach production", { type: "user", id: "engineer-05@example.com" }, "Production databases"],
      ["Sales never reach Payroll", { type: "group", id: "Sales" }, "Payroll"],
    ] as const) {
      const made = await world.client.post("/tenants/access-tests", {
        name,
        subject,
        resource: { type: "resource", id: resource },
        expected: "denied",
        enforced: true,
      });
      expect(made.status, made.text).toBe(201);
    }
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
    await page.getByRole("region", { name: "Gateways", exact: true }).getByText("In sync").first().waitFor();
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
    await documentPicture(page, "events");
    await page.locator("tbody a").first().click();
    await page.getByRole("region", { name: "Effect on access" }).getByText("Lost:").first().waitFor();
    await settled(visit);
    await documentPicture(page, "event");
    await visit.leave();
  });
});
