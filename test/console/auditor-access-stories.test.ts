/** An auditor examines who has access to which resource, and follows other people's changes. */
import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture, type Visit } from "./console-world.ts";
import { button, giveLogs, heading, isQuiet, offersNothing, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an auditor of access", () => {
  const given = storyWorld();
  const userOf = async (email: string): Promise<string> =>
    (await given.client.get(`/tenants/users?filter[email]=${email}`)).body.data[0].id;
  const choose = async ({ page }: Visit, field: string, name: string) => {
    const box = page.getByRole("combobox", { name: field, exact: true });
    // The last-seen device is chosen with the user.
    if ((await box.inputValue()) === name) return;
    await box.fill(name);
    await page.getByRole("option", { name, exact: true }).click();
  };

  test("reads the order of policies, and moves none by dragging or by keys", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    const rows = page.locator("ol.policies > li");
    await visit.open("/policies");
    await rows.first().getByText("Contractors stay out of production").waitFor();
    await offersNothing(visit, "policies");
    const names = await rows.locator(".policy-name").allTextContents();
    expect(names.slice(0, 3)).toEqual([
      "Contractors stay out of production",
      "Production for operations",
      "Engineering tools",
    ]);
    expect(await rows.locator(".place").allTextContents()).toEqual(names.map((_, index) => String(index + 1)));
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await rows.nth(2).locator(".policy-about").dragTo(rows.first());
    for (const at of [rows.nth(2), rows.nth(2).getByRole("link")]) {
      await at.dispatchEvent("keydown", { key: "ArrowUp" });
    }
    await rows.nth(2).getByRole("link").focus();
    for (const key of ["ArrowUp", "ArrowDown", "Home", "End", "Space"]) await page.keyboard.press(key);
    expect(await page.getByText("You have unsaved changes to the order.").count()).toBe(0);
    await page.keyboard.press("Control+Home");
    expect(await rows.locator(".policy-name").allTextContents()).toEqual(names);
    // Pointing at the link to a policy's page may prefetch only the data of that page.
    expect(asked.filter((url) => url.includes("/tenants/"))).toEqual([]);
    await page.getByText("SaaS", { exact: true }).click();
    await rows.first().getByText("Contractors share no files").waitFor();
    await page.getByRole("searchbox").fill("mail");
    await page.waitForURL(/type=SAAS.*q=mail/);
    await expect.poll(() => rows.locator(".place").allTextContents()).toEqual(["3"]);
    await visit.leave();
  });

  test("reads a rule in words and as text, on its own page and on a policy's", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await visit.open("/admission-rules?q=Office");
    await page.getByRole("link", { name: "Office hours" }).click();
    await heading(visit, "Office hours").waitFor();
    const words = page.getByText("Monday to Friday, 07:00–20:00 (Europe/Berlin)");
    await words.waitFor();
    await page.locator("pre", { hasText: 'now.getDayOfWeek("Europe/Berlin") >= 1' }).waitFor();
    expect(await page.getByRole("textbox").count()).toBe(0);
    await offersNothing(visit, "rule");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "auditor-rule");
    await region(visit, /^Policies/)
      .getByRole("link", { name: "Books in office hours" })
      .click();
    await heading(visit, "Books in office hours").waitFor();
    await words.waitFor();
    await page.locator("pre", { hasText: 'now.getHours("Europe/Berlin") < 20' }).waitFor();
    await offersNothing(visit, "policy");
    await visit.open(`/policies/${await given.idOf("policies", "Customer systems")}`);
    await page.getByText("The source country is DE, FR, IE or NL").waitFor();
    const made = await given.client.post("/tenants/admission-rules", {
      name: "More than words",
      rule: 'user.email.endsWith("@example.com")',
      hasTimeConstraint: false,
    });
    await visit.open(`/admission-rules/${made.body.id}`);
    await page.locator("pre", { hasText: "endsWith" }).waitFor();
    expect(await words.count()).toBe(0);
    await offersNothing(visit, "a rule that says more");
    await visit.leave();
  });

  test("sees why a user lacks access, by a link that can be shared", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await visit.open("/access");
    await choose(visit, "User", "engineer-01@example.com");
    await choose(visit, "Device", "engineer-01-laptop");
    await choose(visit, "Resource", "Personnel files");
    await region(visit, "Decision").getByText("Denied").waitFor();
    await region(visit, "Requirements")
      .getByText(/Add the user to the group “People”/)
      .waitFor();
    await region(visit, "Evaluated policies").getByText("applies to other users or devices").waitFor();
    await offersNothing(visit, "access");
    await button(visit, "Copy link").click();
    await button(visit, "Copied").waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    const other = await given.visit();
    await other.page.goto(link);
    await region(other, "Requirements")
      .getByText(/Add the user to the group “People”/)
      .waitFor();
    await other.leave();
    // The policy's page, which an auditor may read but not change.
    await region(visit, "Evaluated policies").getByRole("link", { name: "Personnel files" }).click();
    await heading(visit, "Personnel files").waitFor();
    await offersNothing(visit, "policy");
    await visit.leave();
  });

  test("sees who reaches a resource, what a user reaches, an address with its port, and a past date", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    const [user, logs] = [await userOf("seller-01@example.com"), await given.idOf("resources", "Logs")];
    await visit.open("/access?view=who");
    await choose(visit, "Resource", "Wiki");
    await page.getByRole("link", { name: "Intranet for everyone" }).first().waitFor();
    await offersNothing(visit, "who");
    await visit.open("/access?view=what");
    await choose(visit, "User", "seller-01@example.com");
    await region(visit, /^\d+ results?$/)
      .getByRole("link", { name: "Wiki" })
      .first()
      .waitFor();
    await offersNothing(visit, "what");
    await visit.open(`/access?user=${user}`);
    await page.getByRole("combobox", { name: "Destination" }).click();
    await page.getByRole("option", { name: "an address" }).click();
    await page.getByRole("textbox", { name: "Address", exact: true }).fill("wiki.corp.example.com");
    await page.getByRole("combobox", { name: "Protocol" }).click();
    await page.getByRole("option", { name: "TCP" }).click();
    await page.getByRole("textbox", { name: "Port" }).fill("22");
    await region(visit, "Decision").getByText("The resource does not offer this protocol and port.").first().waitFor();
    await page.getByRole("textbox", { name: "Port" }).fill("443");
    await region(visit, "Decision").getByText("Allowed, but unreachable", { exact: true }).waitFor();
    await offersNothing(visit, "address");
    const before = await giveLogs(given, user, logs);
    const asked = `/access?view=can&user=${user}&resource=${logs}`;
    await visit.open(asked);
    await page.getByRole("link", { name: "Logs for sellers" }).first().waitFor();
    await visit.open(`${asked}&at=${before}`);
    await page.getByText("The user could not reach the resource.").waitFor();
    await offersNothing(visit, "a past date");
    await visit.leave();
  });

  test("opens the graph from a user's, a resource's and a policy's page, and continues by keyboard", async () => {
    for (const visitAs of [given.visitAsAuditor, given.visit]) {
      const visit = await visitAs({ width: 1440 });
      const { page } = visit;
      const bar = region(visit, "Graph filter");
      for (const [at, name] of [
        [`/users/${await userOf("engineer-05@example.com")}`, "engineer-05@example.com"],
        [`/resources/${await given.idOf("resources", "Customer records")}`, "Customer records"],
        [`/policies/${await given.idOf("policies", "Mail and meetings")}`, "Mail and meetings"],
      ] as const) {
        await visit.open(at);
        await heading(visit, name).waitFor();
        await page.getByRole("link", { name: "Graph" }).click();
        await page.waitForURL(/view=graph.*focus=/);
        await bar.getByText(name, { exact: true }).waitFor();
        await page.locator(".graph-node", { hasText: name }).first().waitFor();
        await isQuiet(visit);
        await bar.getByRole("link", { name: /^Open (user|resource|policy)$/ }).click();
        await heading(visit, name).waitFor();
      }
      await visit.leave();
    }
    const visit = await given.visitAsAuditor({ width: 1440 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    const group = page.getByRole("button", { name: /^Group Engineering/ });
    await group.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/focus=group/);
    await page.keyboard.press("ArrowRight");
    await expect
      .poll(() => page.evaluate("document.activeElement?.dataset.key && document.activeElement.textContent"))
      .toContain("Engineering tools");
    await offersNothing(visit, "graph");
    await visit.leave();
  });

  test("sees which access tests pass, runs them, and cannot create others", async () => {
    for (const [name, id, expected] of [
      ["Nobody reaches Wiki", "Wiki", "denied"],
      ["Everybody reaches File shares", "File shares", "allowed"],
    ]) {
      const made = await given.client.post("/tenants/access-tests", {
        name,
        subject: { type: "everyone" },
        resource: { type: "resource", id },
        expected,
      });
      expect(made.status, made.text).toBe(201);
    }
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    await visit.open("/access-tests");
    await page.getByText(/\d passing, \d failing/).waitFor();
    await page
      .getByRole("row", { name: /^Nobody reaches Wiki/ })
      .getByText(/^Fails in/)
      .waitFor();
    await offersNothing(visit, "access tests");
    const run = page.waitForResponse(/access-tests\/check$/);
    await button(visit, "Run all").click();
    expect((await run).status()).toBe(200);
    await page.getByRole("link", { name: "Nobody reaches Wiki" }).click();
    const stands = region(visit, "Result");
    await stands.getByText(/^The test fails in \d+ of \d+/).waitFor();
    await offersNothing(visit, "access test");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "auditor-access-test");
    const again = page.waitForResponse(/access-tests\/check$/);
    await button(visit, "Run").click();
    expect((await again).status()).toBe(200);
    await stands.getByRole("link", { name: "Explain" }).first().click();
    await region(visit, "Decision").getByText("Allowed, but unreachable", { exact: true }).waitFor();
    await visit.leave();
  });

  test("follows others' changes live, with previous values and effects, and can revert none", async () => {
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    const policy = await given.idOf("policies", "Office systems");
    await visit.open("/events");
    await page.getByRole("combobox", { name: "Type" }).click();
    await page.getByRole("option", { name: "Policy", exact: true }).click();
    await page.waitForURL(/target.type=policy/);
    await page.getByRole("switch", { name: "Follow live" }).press("Space");
    await page.getByText("Following live").waitFor();
    await offersNothing(visit, "events");
    const changed = await given.client.patch(`/tenants/policies/${policy}`, {
      groups: [await given.idOf("groups", "Sales")],
      name: "Systems of offices",
    });
    expect(changed.status).toBe(200);
    const first = page.locator("tbody tr").first();
    await first.getByText("Systems of offices").waitFor();
    await first.getByRole("link").click();
    const fields = region(visit, "Before and after");
    await fields.getByRole("row", { name: /^Name/ }).getByText("Office systems").waitFor();
    await fields.getByText("Systems of offices").waitFor();
    await region(visit, "Effect on access").getByText("Lost: always → never").first().waitFor();
    await offersNothing(visit, "event");
    expect(await region(visit, "Restore").count()).toBe(0);
    const reordered = await given.client.post("/tenants/policies/reorder", {
      type: "SAAS",
      policies: (await given.client.get("/tenants/policies?filter[type]=SAAS&sort=order")).body.data
        .map(({ id }: { readonly id: string }) => id)
        .reverse(),
    });
    expect(reordered.status, reordered.text).toBeLessThan(300);
    await visit.open("/events?operation=reorderPolicies");
    await page.getByRole("link", { name: "Reordered policies" }).first().click();
    await heading(visit, "Reordered policies").waitFor();
    await isQuiet(visit);
    await offersNothing(visit, "event of an order");
    expect(await region(visit, "Restore").count()).toBe(0);
    await visit.leave();
  });
});
