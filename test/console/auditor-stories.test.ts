/** An auditor reads the network and can change nothing in it. */
import { afterAll, describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, signIn } from "./console-world.ts";
import { connectGateway, type DeployedGateway } from "./deployed-gateway.ts";
import {
  button,
  changesSentBy,
  controlsThatWrite,
  heading,
  narrowUsers,
  offersNothing,
  region,
  storyWorld,
  warnIfSkipped,
} from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an auditor", () => {
  const given = storyWorld();
  const deployed: DeployedGateway[] = [];
  afterAll(async () => {
    for (const gateway of deployed) await gateway.stop();
  });

  /** A gateway that connects like a deployed one. */
  const deploy = async (name: string): Promise<string> => {
    const { body } = await given.client.post("/tenants/gateways", { name, wireguardPort: "51820" });
    deployed.push(connectGateway(given.world.url, async () => body.token));
    return body.id;
  };

  test("signs in, and follows each part of the overview to the page that resolves it", async () => {
    await given.client.must.post("/tenants/access-tests", {
      name: "Nobody reaches File shares",
      subject: { type: "everyone" },
      resource: { type: "resource", id: "File shares" },
      expected: "denied",
    });
    await given.client.must.post("/tenants/policies", {
      name: "For nobody",
      type: "PRIVATE",
      action: true,
      resources: [await given.idOf("resources", "Wiki")],
    });
    const visit = await given.world.visit();
    const { page } = visit;
    await page.goto(given.world.url);
    await signIn(page, await given.world.keyOf("AUDITOR"));
    const changes = changesSentBy(visit);
    await heading(visit, "Overview").waitFor();
    const follow = async (panel: string, link: string | RegExp, name: string | RegExp) => {
      await region(visit, panel).getByRole("link", { name: link }).first().click();
      await heading(visit, name).waitFor();
      await offersNothing(visit, `${panel}: ${link}`);
      await page.goBack();
      await heading(visit, "Overview").waitFor();
    };
    await offersNothing(visit, "overview");
    // The pointer is where the sign-in button was, and may open a tooltip there.
    await page.mouse.move(0, 0);
    await page.getByRole("tooltip").waitFor({ state: "detached" });
    expect(await accessibilityProblems(page)).toEqual([]);
    await follow("Gateways", "Frankfurt 1", "Frankfurt 1");
    await follow("Gateways", /pending/, "Gateways");
    await follow("Gateways", "All gateways", "Gateways");
    await follow("Recent changes", "Created policy: For nobody", "Created policy");
    await follow("Recent changes", "All events", "Events");
    await follow("Access tests", "Nobody reaches File shares", "Nobody reaches File shares");
    await follow("Access tests", "All access tests", "Access tests");
    await follow("Unreachable resources", "Source code", "Source code");
    await follow("Unreachable resources", "All resources", "Resources");
    await follow("Unused policies", "For nobody", "For nobody");
    await follow("Unused policies", "All policies", "Policies");
    await follow("Devices", "All devices", "Devices");
    await visit.leave();
    expect(changes).toEqual([]);
  });

  test("sees which records an empty network lacks, and no links to forms", async () => {
    const tests = (await given.client.get("/tenants/access-tests")).body.data;
    for (const { id } of tests) await given.client.must.delete(`/tenants/access-tests/${id}`);
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await page.route("**/tenants/gateways", (route) => route.fulfill({ json: [] }));
    await visit.open("/overview");
    await region(visit, "Access tests").getByText("No access tests yet").waitFor();
    await region(visit, "Gateways").getByText("No gateways yet").waitFor();
    await offersNothing(visit, "overview");
    await visit.leave();
    const owner = await given.visit();
    await owner.open("/overview");
    await region(owner, "Access tests").getByRole("link", { name: "Create access test" }).click();
    await owner.page.getByRole("dialog", { name: "Create access test" }).waitFor();
    // The search for controls that write finds some.
    expect((await controlsThatWrite(owner)).length).toBeGreaterThan(1);
    await owner.leave();
  });

  test("searches, filters, sorts and pages, all in the address", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await narrowUsers(visit);
    const shared = await given.visitAsAuditor();
    await shared.page.goto(page.url());
    await shared.page.getByText("1 result", { exact: true }).waitFor();
    await offersNothing(shared, "users");
    await shared.leave();
    await visit.open("/resources?q=databases&type=PRIVATE");
    await page.getByText("2 results", { exact: true }).waitFor();
    await offersNothing(visit, "resources");
    await visit.open("/gateways?status=PENDING&sort=-name");
    await page.locator("tbody tr").first().getByText("Frankfurt 2").waitFor();
    await page.getByRole("searchbox").fill("nothing of that name");
    await page.getByText("No gateways match").waitFor();
    await button(visit, "Show all gateways").click();
    await page.getByRole("link", { name: "Dublin office" }).waitFor();
    await visit.leave();
  });

  test("reads all fields of one record of each kind", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    const user = (await given.client.get("/tenants/users?filter[email]=engineer-01@example.com")).body.data[0].id;
    const pages: readonly (readonly [string, string | RegExp, string])[] = [
      [`/users/${user}`, "About", "Engineering"],
      [`/groups/${await given.idOf("groups", "Engineering")}`, /^Members/, "engineer-01@example.com"],
      [`/devices/${await given.idOf("devices", "engineer-01-laptop")}`, "Posture", "Disk encrypted"],
      [`/resources/${await given.idOf("resources", "Source code")}`, /^Gateways/, "Cloud"],
    ];
    for (const [at, panel, text] of pages) {
      await visit.open(at);
      await region(visit, panel).getByText(text, { exact: true }).waitFor();
      await offersNothing(visit, at);
    }
    const lists = [
      ["addresses", "About", /^(IP address|Network|Host name|Wildcard name)$/],
      ["protocols", "About", /TCP|UDP|ICMP/],
      ["roles", "Permissions", "Users"],
    ] as const;
    for (const [list, panel, text] of lists) {
      await visit.open(`/${list}`);
      await page.locator(`main a[href*="/${list}/"]`).first().click();
      await page.waitForURL(`**/${list}/*`);
      await region(visit, panel).getByText(text).first().waitFor();
      await offersNothing(visit, list);
    }
    await visit.leave();
  });

  test("sees no form at an address that was entered by hand", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    const policy = await given.idOf("policies", "Engineering tools");
    for (const at of ["users", "groups", "gateways", "resources", "policies", "admission-rules", "access-tests"]) {
      await visit.open(`/${at}?new=1&edit=1`);
      await page.locator("h1").waitFor();
      await offersNothing(visit, at);
    }
    await visit.open(`/policies/${policy}?edit=1&new=1`);
    await heading(visit, "Engineering tools").waitFor();
    await offersNothing(visit, "policy");
    for (const at of [`/policies/${policy}/edit`, "/users/new/edit"]) {
      await visit.open(at);
      await heading(visit, "Page not found").waitFor();
      await offersNothing(visit, at);
      await page.getByRole("link", { name: "Go to overview" }).click();
      await heading(visit, "Overview").waitFor();
    }
    await visit.leave();
  });

  test("finds pages and records by the command palette, but no actions that write", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    const ask = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("textbox", { name: "Search" }).fill(text);
    };
    const offered = () => page.locator(".mantine-Spotlight-action").allTextContents();
    await ask("");
    await expect.poll(async () => (await offered()).length).toBe(24);
    expect((await offered()).filter((text) => /^(create|new|invite|add|write)\b/i.test(text))).toEqual([]);
    await ask("create");
    await page.getByText("No results").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("textbox", { name: "Search" }).fill("compliant dev");
    await page.getByText("Compliant device", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await heading(visit, "Compliant device").waitFor();
    await ask("webhooks");
    await page.keyboard.press("Enter");
    await heading(visit, "Webhooks").waitFor();
    await visit.leave();
    const owner = await given.visit();
    await owner.open("/overview");
    await heading(owner, "Overview").waitFor();
    await owner.page.keyboard.press("Control+k");
    await owner.page.locator(".mantine-Spotlight-action", { hasText: "Create policy" }).waitFor();
    await owner.leave();
  });

  test("sees which configuration gateways applied, but can neither reorder gateways nor see a token", async () => {
    const id = await deploy("Bergen");
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await visit.open("/overview");
    await region(visit, "Gateways")
      .getByRole("row", { name: /^Bergen/ })
      .getByText("In sync")
      .waitFor();
    await visit.open(`/gateways/${id}`);
    await region(visit, "Configuration").getByText("In sync").waitFor();
    await region(visit, "Configuration")
      .getByText(/^Generation \d+/)
      .first()
      .waitFor();
    await offersNothing(visit, "gateway");
    expect(await page.content()).not.toContain("gatehouse_gw_");
    expect(await accessibilityProblems(page)).toEqual([]);
    const accounting = await given.idOf("resources", "Accounting");
    const order = async () => (await given.client.get(`/tenants/resources/${accounting}`)).body.gateways;
    const before = await order();
    await visit.open(`/resources/${accounting}`);
    const rows = region(visit, /^Gateways/).locator("tbody tr");
    await region(visit, /^Gateways/)
      .getByText("By priority")
      .waitFor();
    await offersNothing(visit, "resource");
    await rows.nth(1).dragTo(rows.first());
    await rows.nth(1).getByRole("link").focus();
    for (const key of ["ArrowUp", "Home"]) await page.keyboard.press(key);
    const visible = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
    expect(visible).toEqual(["1 Frankfurt 1 Pending", "2 Frankfurt 2 Pending"]);
    expect(await order()).toEqual(before);
    await visit.leave();
  });
});
