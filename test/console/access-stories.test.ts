/** Policies, rules, and access to resources. */
import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture, type Visit } from "./console-world.ts";
import { button, chooseAction, effectOf, giveLogs, heading, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an administrator of access", () => {
  const given = storyWorld();
  const namesInOrder = async () =>
    (await given.client.get("/tenants/policies?filter[type]=PRIVATE&sort=order")).body.data.map(
      ({ name }: { readonly name: string }) => name,
    );

  test("orders policies by keyboard and by dragging, and previews the effect before saving", async () => {
    const visit = await given.visit();
    const { page } = visit;
    const made = await given.client.post("/tenants/policies", {
      name: "Nobody edits the wiki",
      type: "PRIVATE",
      action: false,
      allUsers: true,
      resources: [await given.idOf("resources", "Wiki")],
    });
    expect(made.status).toBe(201);
    await visit.open("/policies");
    await heading(visit, "Policies").waitFor();
    const before = await namesInOrder();
    await button(visit, "Move Production for operations up").focus();
    await page.keyboard.press("Enter");
    await page.getByText("Production for operations is now number 1").waitFor();
    await page.getByRole("button", { name: /^Reorder Intranet for everyone/ }).focus();
    await page.keyboard.press("ArrowUp");
    const rows = page.locator("ol.policies > li");
    await expect.poll(() => rows.nth(5).textContent()).toContain("Intranet for everyone");
    await page
      .getByRole("button", { name: /^Reorder Personnel files/ })
      .dragTo(page.getByRole("button", { name: /^Reorder Engineering tools/ }));
    await expect.poll(() => rows.nth(2).textContent()).toContain("Personnel files");
    await page.getByRole("button", { name: /^Reorder Nobody edits the wiki/ }).focus();
    await page.keyboard.press("Home");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "policies-moved");
    await button(visit, "Review order").click();
    await effectOf(visit).getByText("Lost: always → never").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "policies-order-review");
    expect(await namesInOrder()).toEqual(before);
    await button(visit, "Save order").click();
    await expect
      .poll(async () => (await namesInOrder()).slice(0, 4))
      .toEqual([
        "Nobody edits the wiki",
        "Production for operations",
        "Contractors stay out of production",
        "Personnel files",
      ]);
    await expect.poll(() => page.getByText("You have unsaved changes to the order.").count()).toBe(0);
    await given.client.must.delete(`/tenants/policies/${made.body.id}`);
    await visit.leave();
  });

  test("creates a policy, edits it, deactivates and deletes it, each with its effect", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/policies");
    await button(visit, "Create policy").click();
    await page.getByRole("textbox", { name: "Name" }).fill("Intranet for everyone");
    visit.expectFailures(409);
    await button(visit, "Review").click();
    await page.getByText("This name is already in use").first().waitFor();
    await page.getByRole("textbox", { name: "Name" }).fill("Sales read logs");
    for (const [field, name] of [
      ["Groups", "Sales"],
      ["Resources", "Logs"],
    ] as const) {
      await page.getByRole("combobox", { name: field, exact: true }).fill(name);
      await page.getByRole("option", { name, exact: true }).click();
      await page.keyboard.press("Tab");
    }
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "policy-new");
    await button(visit, "Review").click();
    await effectOf(visit).getByRole("cell", { name: "Logs" }).first().waitFor();
    await picture(page, "policy-new-review");
    await button(visit, "Create").click();
    await heading(visit, "Sales read logs").waitFor();
    await button(visit, "Edit").click();
    await page.getByRole("textbox", { name: "Description" }).fill("To answer questions");
    await button(visit, "Review").click();
    await effectOf(visit).getByText("Nobody’s access changes.").waitFor();
    await button(visit, "Save").click();
    await page.getByText("To answer questions").waitFor();
    await button(visit, "Deactivate").click();
    await effectOf(visit).getByText("Lost:").first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Deactivate" }).click();
    await page.getByText("Deactivated", { exact: true }).waitFor();
    await chooseAction(visit, "Delete");
    await effectOf(visit).getByText("Nobody’s access changes.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await heading(visit, "Policies").waitFor();
    await visit.leave();
  });

  test("is blocked by an enforced access test, and overrides it with a reason", async () => {
    const visit = await given.visit();
    const { page } = visit;
    const made = await given.client.post("/tenants/access-tests", {
      name: "Sales never reach Accounting",
      subject: { type: "group", id: "Sales" },
      resource: { type: "resource", id: "Accounting" },
      expected: "denied",
      enforced: true,
    });
    expect(made.status).toBe(201);
    await visit.open(`/policies/${await given.idOf("policies", "Books in office hours")}`);
    await button(visit, "Edit").click();
    await page.getByRole("combobox", { name: "Groups", exact: true }).fill("Sales");
    await page.getByRole("option", { name: "Sales", exact: true }).click();
    await page.keyboard.press("Tab");
    await button(visit, "Review").click();
    await effectOf(visit).getByRole("link", { name: "Sales never reach Accounting" }).waitFor();
    visit.expectFailures(409);
    await button(visit, "Save").click();
    await page.getByText("Blocked by access tests").waitFor();
    expect(await button(visit, "Override and save").isDisabled()).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "policy-override");
    await page.getByRole("textbox", { name: "Reason for the override" }).fill("Sales close the year this week");
    await button(visit, "Override and save").click();
    await page.getByRole("link", { name: "Sales", exact: true }).waitFor();
    const { body } = await given.client.get("/tenants/events?sort=-position&limit=1");
    expect(body.data[0].reason).toBe("Sales close the year this week");
    await visit.leave();
  });

  test("creates a rule with the builder, continues as text, and sees errors at their position", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/admission-rules?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Encrypted by day");
    await button(visit, "Add condition").click();
    await page.getByRole("menuitem", { name: "Device posture" }).click();
    await button(visit, "Add condition").click();
    await page.getByRole("menuitem", { name: "Hours of the day" }).click();
    await page.getByRole("group", { name: "Condition 2" }).waitFor();
    await expect.poll(() => page.getByRole("menu").count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "rule-builder");
    await page.getByText("Text", { exact: true }).click();
    const editor = page.getByRole("textbox", { name: "Rule" });
    await editor.getByText("device.posture.diskEncrypted == true &&").waitFor();
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" && device.pos");
    const completion = page.getByRole("option", { name: "posture" });
    await completion.waitFor();
    await picture(page, "rule-completion");
    await completion.click(); // Enter accepts it only after a delay, because the key may be meant for a new line
    await editor.getByText("&& device.posture", { exact: false }).waitFor();
    await page.keyboard.type(".osUpToDate == tru");
    const wrong = page.locator(".cm-lintRange-error", { hasText: /^tru$/ });
    await wrong.waitFor();
    await wrong.hover();
    await page.locator(".cm-tooltip-lint").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "rule-error");
    await page.getByRole("textbox", { name: "Name" }).click();
    await editor.focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("e");
    await expect.poll(() => page.locator(".cm-lintRange-error").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByText("Builder", { exact: true }).click();
    await page.getByRole("group", { name: "Condition 3" }).waitFor();
    await button(visit, "Create").click();
    await heading(visit, "Encrypted by day").waitFor();
    const { body } = await given.client.get("/tenants/admission-rules");
    expect(body.find(({ name }: { readonly name: string }) => name === "Encrypted by day")).toMatchObject({
      hasTimeConstraint: true,
      rule: 'device.posture.diskEncrypted == true &&\nnow.getHours("Europe/Berlin") >= 8 && now.getHours("Europe/Berlin") < 18 && device.posture.osUpToDate == true',
    });
    await visit.leave();
  });

  test("changes a rule, and sees who loses access", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/admission-rules?q=In Europe");
    await page.getByRole("link", { name: "In Europe" }).click();
    await button(visit, "Edit").click();
    await page.getByText("Text", { exact: true }).click();
    await page.getByRole("textbox", { name: "Rule" }).fill("false");
    await button(visit, "Review").click();
    await effectOf(visit).getByText("Lost:").first().waitFor();
    await button(visit, "Save").click();
    await page.getByRole("region", { name: "About" }).getByText("false", { exact: true }).waitFor();
    await visit.leave();
  });

  const choose = async ({ page }: Visit, field: string, name: string) => {
    const box = page.getByRole("combobox", { name: field, exact: true });
    // The last-seen device is chosen with the user.
    if ((await box.inputValue()) === name) return;
    await box.fill(name);
    await page.getByRole("option", { name, exact: true }).click();
  };

  test("checks whether a user has access, sees the reason for a denial, and shares it as a link", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/access");
    await page.getByText("Choose a user, a device or both, and a resource.").waitFor();
    await choose(visit, "User", "engineer-01@example.com");
    await choose(visit, "Resource", "Personnel files");
    const decision = page.getByRole("region", { name: "Decision" });
    await decision.getByText("Denied").waitFor();
    await page
      .getByRole("region", { name: "Requirements" })
      .getByText(/Add the user to the group “People”/)
      .waitFor();
    await page
      .getByRole("region", { name: "Evaluated policies" })
      .getByText("applies to other users or devices")
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-denied");
    await choose(visit, "Resource", "Source code");
    await choose(visit, "Device", "engineer-01-laptop");
    await decision.getByText("Allowed, but unreachable", { exact: true }).waitFor();
    await page.getByText("Matched (decides)").waitFor();
    await page.getByText("Met", { exact: true }).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-allowed");
    const link = page.url();
    const other = await given.world.visit({ key: await given.world.keyOf("AUDITOR") });
    await other.page.goto(link);
    await other.page
      .getByRole("region", { name: "Decision" })
      .getByText("Allowed, but unreachable", { exact: true })
      .waitFor();
    await other.leave();
    await visit.leave();
  });

  test("sees who reaches a resource, what a user reaches, and what they reached before", async () => {
    const visit = await given.visit();
    const { page } = visit;
    const [wiki, logs] = [await given.idOf("resources", "Wiki"), await given.idOf("resources", "Logs")];
    const user = (await given.client.get("/tenants/users?filter[email]=seller-01@example.com")).body.data[0].id;
    await visit.open("/access?view=who");
    await choose(visit, "Resource", "Wiki");
    await page.getByRole("link", { name: "Intranet for everyone" }).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-who");
    await visit.open(`/access?view=what&user=${user}`);
    await page
      .getByRole("region", { name: /^\d+ results?$/ })
      .getByRole("link", { name: "Wiki" })
      .first()
      .waitFor();
    await picture(page, "access-what");
    // The time before, and the time after a policy grants more access.
    const before = await giveLogs(given, user, logs);
    const asked = `view=can&user=${user}&resource=${logs}`;
    await visit.open(`/access?${asked}`);
    await page.getByRole("link", { name: "Logs for sellers" }).first().waitFor();
    await visit.open(`/access?${asked}&at=${before}`);
    await page.getByText("The user could not reach the resource.").waitFor();
    await visit.open(`/access?view=can&user=${user}&resource=${wiki}&at=2031-01-01T10:00:00Z`);
    await page
      .getByRole("region", { name: "Decision" })
      .getByText("Allowed, but unreachable", { exact: true })
      .waitFor();
    await visit.leave();
  });

  test("creates an access test, runs it, corrects it, and deletes it", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/access-tests");
    await button(visit, "Create access test").click();
    await page.getByRole("textbox", { name: "Name" }).fill("Engineers never reach Source code");
    await choose(visit, "Group", "Engineering");
    await choose(visit, "Resource", "Source code");
    await page.getByRole("switch", { name: "Enforced" }).uncheck({ force: true });
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-test-new");
    await button(visit, "Create").click();
    await heading(visit, "Engineers never reach Source code").waitFor();
    await page.getByText(/^Fails in \d+ cases?$/).waitFor();
    await page.getByRole("link", { name: "Explain" }).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "access-test");
    await button(visit, "Edit").click();
    await choose(visit, "Group", "Sales");
    await button(visit, "Save").click();
    await page.getByText("Passes", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Access tests" }).first().click();
    await page.getByText(/\d+ passing, \d+ failing/).waitFor();
    await button(visit, "Run all").click();
    await page.getByText(/\d+ passing, \d+ failing/).waitFor();
    await picture(page, "access-tests");
    await page.getByRole("link", { name: "Engineers never reach Source code" }).click();
    await chooseAction(visit, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await heading(visit, "Access tests").waitFor();
    await visit.leave();
  });

  test("sees the state of the network, and follows events live with their effects", async () => {
    await given.client.must.post("/tenants/access-tests", {
      name: "Nobody reaches File shares",
      subject: { type: "everyone" },
      resource: { type: "resource", id: "File shares" },
      expected: "denied",
    });
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    await page.getByRole("region", { name: "Gateways" }).getByRole("link", { name: "Frankfurt 1" }).waitFor();
    await page
      .getByRole("region", { name: "Access tests" })
      .getByRole("link", { name: "Nobody reaches File shares" })
      .waitFor();
    await page.getByRole("region", { name: "Recent changes" }).getByRole("link").nth(1).waitFor();
    await page
      .getByRole("region", { name: "Devices" })
      .getByText(/online$/)
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "overview");
    await visit.open("/events");
    await page.getByRole("switch", { name: "Follow live" }).press("Space");
    await page.getByText("Following live").waitFor();
    const policy = await given.idOf("policies", "Office systems");
    const sales = await given.idOf("groups", "Sales");
    const made = await given.client.patch(`/tenants/policies/${policy}`, {
      groups: [sales],
      name: "Systems of offices",
    });
    expect(made.status).toBe(200);
    const first = page.locator("tbody tr").first();
    await first.getByText("Systems of offices").waitFor();
    await page.getByRole("switch", { name: "Following live" }).press("Space");
    await first.getByRole("link").click();
    await page.getByRole("cell", { name: /Removed: (− )?(Operations (− )?Support|Support (− )?Operations)/ }).waitFor();
    await page.getByRole("region", { name: "Effect on access" }).getByText("Lost: always → never").first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "event-effect");
    await visit.leave();
  });
});
