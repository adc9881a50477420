/** Gateways that connect, problems of the network, and orders that are changed by hand. */
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblems,
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  picture,
  type Visit,
  withoutBrowser,
} from "./console-world.ts";
import { type DeployedGateway, deployGateway } from "./deployed-gateway.ts";

if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);

describe.runIf(hasBrowser)("an administrator of the network", () => {
  let world: ConsoleWorld;
  let owner: string;
  let auditor: string;
  const deployed: DeployedGateway[] = [];
  beforeAll(async () => {
    world = await openConsoleWorld();
    owner = await world.keyOf("OWNER");
    auditor = await world.keyOf("AUDITOR");
  });
  afterAll(async () => {
    for (const gateway of deployed) await gateway.stop();
    await world?.close();
  });

  const heading = ({ page }: Visit, name: string | RegExp) => page.getByRole("heading", { level: 1, name });
  const button = ({ page }: Visit, name: string | RegExp) => page.getByRole("button", { name, exact: true });
  const region = ({ page }: Visit, name: string) => page.getByRole("region", { name, exact: true });

  test("deploys a gateway with one command, sees it turn green, and sees why it rejects a configuration", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/gateways?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Bergen");
    await button(visit, "Create").click();
    await heading(visit, "Bergen").waitFor();
    await page.getByText("Waiting for the gateway to connect").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "gateway-deploy");
    await page.getByRole("tab", { name: "From source" }).click();
    await button(visit, "Copy with token").click();
    await page.evaluate("globalThis.isSamePage = true");
    const gateway = await deployGateway(await page.evaluate("navigator.clipboard.readText()"));
    deployed.push(gateway);
    await page.locator("h1 + *").getByText("Online", { exact: true }).waitFor();
    await region(visit, "Configuration").getByText("In sync").waitFor();
    expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    const id = page.url().split("/").at(-1) ?? "";
    gateway.agent.refusal = "the interface gatehouse0 is in use";
    const wiki = (await world.client.get("/tenants/resources?filter[name]=Wiki")).body.data[0];
    expect((await world.client.put(`/tenants/resources/${wiki.id}/gateways/${id}`)).status).toBeLessThan(300);
    await page.locator("h1 + *").getByText("Error", { exact: true }).waitFor();
    await region(visit, "Configuration").getByText("Rejected", { exact: true }).waitFor();
    await region(visit, "Configuration").getByText("the interface gatehouse0 is in use").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "gateway-refused");
    await visit.open("/overview");
    const row = region(visit, "Gateways").getByRole("row", { name: /^Bergen/ });
    await row.getByText("Rejected").waitFor();
    gateway.agent.refusal = undefined;
    await visit.leave();
  });

  test("shows an auditor which configuration a gateway applied, but neither its token nor a command", async () => {
    const visit = await world.visit({ key: auditor });
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("textbox", { name: "Search" }).fill("berg");
    await page.getByRole("button", { name: /^Bergen/ }).waitFor();
    await page.keyboard.press("Enter");
    await heading(visit, "Bergen").waitFor();
    await region(visit, "Configuration").getByText("Desired").waitFor();
    await region(visit, "Deploy").getByRole("button", { name: "Update the token" }).click();
    await region(visit, "Deploy").getByText("You cannot view the gateway’s token").waitFor();
    expect(await page.content()).not.toContain("gatehouse_gw_");
    await visit.leave();
  });

  test("orders a resource's gateways by dragging and by keyboard, and saves that once", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    const { body } = await world.client.get("/tenants/resources?filter[name]=Source code");
    const { id } = body.data[0];
    const order = async () =>
      (await world.client.get(`/tenants/resources/${id}`)).body.gateways.map(
        ({ name }: { readonly name: string }) => name,
      );
    await visit.open(`/resources/${id}`);
    await page.getByText("By priority", { exact: true }).click();
    const before = await order();
    expect(before).toEqual(["Frankfurt 1", "Frankfurt 2", "Cloud"]);
    const grip = (name: string) => page.getByRole("button", { name: `Reorder ${name}: drag, or use the arrow keys` });
    await grip("Frankfurt 1").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.getByText("Frankfurt 1 is now number 3 of 3.").waitFor();
    await grip("Cloud").dragTo(grip("Frankfurt 2"));
    const rows = page.getByRole("region", { name: /^Gateways/ }).locator("tbody tr");
    await expect.poll(() => rows.first().textContent()).toContain("Cloud");
    expect(await order()).toEqual(before);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "resource-gateways-moved");
    await button(visit, "Save priority").click();
    await expect.poll(order).toEqual(["Cloud", "Frankfurt 2", "Frankfurt 1"]);
    await expect.poll(() => page.getByText("You have unsaved changes to the priority.").count()).toBe(0);
    await grip("Cloud").focus();
    await page.keyboard.press("End");
    await button(visit, "Discard").click();
    await expect.poll(() => rows.first().textContent()).toContain("Cloud");
    // Another user saves first.
    await grip("Cloud").focus();
    await page.keyboard.press("End");
    await page.getByText("You have unsaved changes to the priority.").waitFor();
    const { body: now } = await world.client.get(`/tenants/resources/${id}`);
    const gateways = now.gateways.map((gateway: { readonly id: string }) => gateway.id).reverse();
    const changed = await world.client.post(`/tenants/resources/${id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways,
    });
    expect(changed.status, changed.text).toBeLessThan(300);
    // The page reloads the order by itself.
    const notice = page.getByRole("alert").filter({ hasText: "Someone else changed the order" });
    await notice.waitFor({ timeout: 30_000 });
    await expect.poll(() => rows.first().textContent()).toContain("Frankfurt 1");
    await expect.poll(() => page.getByText("You have unsaved changes to the priority.").count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await grip("Frankfurt 1").focus();
    await page.keyboard.press("End");
    await expect.poll(() => notice.count()).toBe(0);
    await visit.leave();
    const other = await world.visit({ key: auditor });
    await other.open(`/resources/${id}`);
    await other.page.getByRole("link", { name: "Cloud" }).waitFor();
    expect(await other.page.getByRole("button", { name: /^Reorder/ }).count()).toBe(0);
    await other.leave();
  });

  test("orders policies and gateways by touch", async () => {
    const visit = await world.visit({ key: owner, width: 768, touch: true });
    const { page, context } = visit;
    const screen = await context.newCDPSession(page);
    const middleOf = async (at: Locator) => {
      const box = await at.boundingBox();
      if (box === null) throw new Error("what is to be touched is not in sight");
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    };
    const drag = async (from: Locator, to: Locator) => {
      const [begin, end] = [await middleOf(from), await middleOf(to)];
      await screen.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [begin] });
      for (let step = 1; step <= 10; step++) {
        const point = {
          x: begin.x + ((end.x - begin.x) * step) / 10,
          y: begin.y + ((end.y - begin.y) * step) / 10,
        };
        await screen.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [point] });
      }
      await screen.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    };
    const grip = (name: string) => page.getByRole("button", { name: `Reorder ${name}: drag, or use the arrow keys` });
    await visit.open("/policies");
    await grip("Personnel files").waitFor();
    const names = page.locator("ol.policies .policy-name");
    const before = await names.allTextContents();
    await drag(grip("Personnel files"), grip("Production for operations"));
    const moved = before.filter((name) => name !== "Personnel files");
    moved.splice(1, 0, "Personnel files");
    await expect.poll(() => names.allTextContents()).toEqual(moved);
    await page.getByText("Personnel files is now number 2").waitFor();
    expect(await page.evaluate<number>("scrollY")).toBe(0);
    await drag(grip("Personnel files"), grip("Office systems"));
    await expect.poll(async () => (await names.allTextContents()).indexOf("Personnel files")).toBe(5);
    await button(visit, "Discard").click();
    await expect.poll(() => names.allTextContents()).toEqual(before);
    const { body } = await world.client.get("/tenants/resources?filter[name]=Accounting");
    await visit.open(`/resources/${body.data[0].id}`);
    await grip("Frankfurt 2").waitFor();
    await drag(grip("Frankfurt 2"), grip("Frankfurt 1"));
    const rows = page.getByRole("region", { name: /^Gateways/ }).locator("tbody tr");
    await expect.poll(() => rows.first().textContent()).toContain("Frankfurt 2");
    await page.getByText("You have unsaved changes to the priority.").waitFor();
    await visit.leave();
  });

  test("is notified if someone else reordered the policies, on return to the page and in the review", async () => {
    const ordered = async (): Promise<readonly { readonly id: string; readonly name: string }[]> =>
      (await world.client.get("/tenants/policies?filter[type]=SAAS&sort=order")).body.data;
    /** Another user moves the last policy to the first position. */
    const overtake = async () => {
      const ids = (await ordered()).map(({ id }) => id);
      const policies = [ids.at(-1), ...ids.slice(0, -1)];
      const answer = await world.client.post("/tenants/policies/reorder", { type: "SAAS", policies });
      expect(answer.status, answer.text).toBeLessThan(300);
      return (await ordered()).map(({ name }) => name);
    };
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/policies?type=SAAS");
    const names = page.locator("ol.policies .policy-name");
    const notice = page.getByRole("alert").filter({ hasText: "Someone else changed the order" });
    const grip = (name: string) => page.getByRole("button", { name: `Reorder ${name}: drag, or use the arrow keys` });
    await grip("Customer systems").focus();
    await page.keyboard.press("Home");
    await page.getByText("You have unsaved changes to the order.").waitFor();
    const first = await overtake();
    await expect
      .poll(async () => {
        // The event of returning to the tab: data that is a few seconds old is then fetched again.
        await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
        return await notice.count();
      })
      .toBe(1);
    await expect.poll(() => names.allTextContents()).toEqual(first);
    await expect.poll(() => page.getByText("You have unsaved changes to the order.").count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "policies-overtaken");
    await grip("Mail and meetings").focus();
    await page.keyboard.press("End");
    await expect.poll(() => notice.count()).toBe(0);
    const second = await overtake();
    await button(visit, "Review order").click();
    await notice.waitFor();
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await expect.poll(() => names.allTextContents()).toEqual(second);
    // The policy is moved again, reviewed on request, and saved.
    const last = second.at(0) ?? "";
    await grip(last).focus();
    await page.keyboard.press("End");
    await expect.poll(() => notice.count()).toBe(0);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await button(visit, "Review order").click();
    await page.getByRole("region", { name: "Effect of this change" }).waitFor();
    await button(visit, "Save order").click();
    await expect.poll(async () => (await ordered()).at(-1)?.name).toBe(last);
    await visit.leave();
  });

  test("sees unreachable resources and policies that never match, and fixes them from there", async () => {
    const made = async (path: string, body: object): Promise<string> => {
      const answer = await world.client.post(path, body);
      expect(answer.status, answer.text).toBe(201);
      return answer.body.id;
    };
    const group = await made("/tenants/groups", { name: "Interns" });
    const protocols: readonly { readonly id: string; readonly name: string }[] = (
      await world.client.get("/tenants/protocols")
    ).body;
    const https = protocols.find(({ name }) => name === "HTTPS")?.id;
    const resource = await made("/tenants/resources", {
      name: "Time sheets",
      type: "PRIVATE",
      addresses: [{ address: "time.corp.example.com", protocols: [https] }],
    });
    await made("/tenants/policies", {
      name: "Interns write time sheets",
      type: "PRIVATE",
      action: true,
      groups: [group],
      resources: [resource],
    });
    for (const key of [owner, auditor]) {
      const visit = await world.visit({ key });
      const { page } = visit;
      await visit.open("/overview");
      const line = (panel: string, name: string) =>
        region(visit, panel).getByRole("listitem").filter({ hasText: name });
      await line("Unreachable resources", "Time sheets").getByText("It has no gateway").waitFor();
      await line("Unused policies", "Interns write time sheets").getByText("No active users match").waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await region(visit, "Unreachable resources").getByRole("link", { name: "Time sheets" }).click();
      await heading(visit, "Time sheets").waitFor();
      await visit.leave();
    }
    const { body } = await world.client.get("/tenants/users?filter[email]=seller-02@example.com");
    expect(body.data[0].status).toBe("active");
    const joined = await world.client.post(`/tenants/users/${body.data[0].id}/groups`, { groupId: group });
    expect(joined.status, joined.text).toBeLessThan(300);
    const visit = await world.visit({ key: owner });
    await visit.open("/overview");
    await region(visit, "Unused policies").getByText("No unused policies").waitFor();
    expect(await region(visit, "Unused policies").getByText("Interns").count()).toBe(0);
    await visit.leave();
  });
});
