import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, openConsoleWorld, picture } from "./console-world.ts";
import {
  button,
  chooseAction,
  effectOf,
  heading,
  inDialog,
  narrowUsers,
  review,
  storyWorld,
  warnIfSkipped,
} from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an administrator", () => {
  const given = storyWorld();

  test("signs in, sees why a wrong key is refused, and signs out permanently", async () => {
    const visit = await given.world.visit();
    const { page, context } = visit;
    await page.goto(given.world.url);
    visit.expectFailures(401);
    await button(visit, "Use an API key").click();
    await page.locator("input[type=password]").fill("gatehouse_key_wrong");
    await button(visit, "Sign in").click();
    await page.getByRole("alert").getByText("truncated or mistyped").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator("input[type=password]").fill(given.owner);
    await button(visit, "Sign in").click();
    await heading(visit, "Overview").waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    expect(
      await page.evaluate("JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])"),
    ).not.toContain("gatehouse_");
    await page.reload();
    await heading(visit, "Overview").waitFor();
    await button(visit, "Account").click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await button(visit, "Use an API key").waitFor();
    const answer = await fetch(`${given.world.url}/tenants/users`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(answer.status).toBe(401);
    await visit.leave();
  });

  test("searches, filters, sorts and pages, all in the address", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await narrowUsers(visit);
    await page.reload();
    await page.getByText("1 result", { exact: true }).waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("agent");
    await page.getByRole("searchbox").fill("nobody at all");
    await page.getByText("No users match").waitFor();
    await button(visit, "Show all users").click();
    await page.getByText("1–25 of 41 results").waitFor();
    await visit.leave();
  });

  test("creates, edits and deletes a gateway, which shows the command that deploys it", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/gateways");
    await button(visit, "Create gateway").click();
    await page.getByRole("textbox", { name: "Name" }).fill("Oslo");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "gateway-new");
    await button(visit, "Create").click();
    await heading(visit, "Oslo").waitFor();
    await page.getByRole("tab", { name: "From source" }).click();
    await button(visit, "Copy with token").click();
    const command = await page.evaluate("navigator.clipboard.readText()");
    expect(command).toMatch(
      /gatehouse_gw_\w{49}'[\s\S]*gatehouse-gateway\.js \\\s+--url http:\/\/localhost:\d+ --token-file/,
    );
    await button(visit, "Edit").click();
    await page.getByRole("textbox", { name: "WireGuard port" }).fill("99999");
    visit.expectFailures(400, 422);
    await button(visit, "Review").click();
    await page
      .getByRole("alert")
      .getByText(/UDP port/)
      .first()
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("textbox", { name: "WireGuard port" }).fill("51999");
    await review(visit, "Save");
    await page.getByText("51999").waitFor();
    await chooseAction(visit, "Delete");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("token will stop working").waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await heading(visit, "Gateways").waitFor();
    await page.getByText("of 6 gateways").or(page.locator("tbody tr").first()).first().waitFor();
    await expect.poll(() => page.getByText("Oslo").count()).toBe(0);
    await visit.leave();
  });

  test("creates a group and a resource with an address, and orders its gateways by keyboard", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/groups?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Night shift");
    await review(visit, "Create");
    await heading(visit, "Night shift").waitFor();
    await visit.open("/resources?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Ticket desk");
    await page.getByRole("textbox", { name: "Address", exact: true }).fill("tickets.corp.example.com");
    await page.getByRole("combobox", { name: "Protocols" }).fill("HTTPS");
    await page.getByRole("option", { name: "HTTPS", exact: true }).click();
    await page.keyboard.press("Escape");
    await review(visit, "Create");
    await heading(visit, "Ticket desk").waitFor();
    await page.getByText("tickets.corp.example.com").waitFor();
    for (const name of ["Frankfurt 1", "Frankfurt 2"]) {
      await button(visit, "Connect gateway").click();
      await page.getByRole("dialog").getByRole("combobox", { name: "Gateway" }).click();
      await page.getByRole("option", { name }).click();
      await inDialog(visit, "Review").click();
      await inDialog(visit, `Connect ${name}`).click();
      await page.getByRole("link", { name }).waitFor();
    }
    await button(visit, "Move Frankfurt 2 up").focus();
    await page.keyboard.press("Enter");
    const rows = page.getByRole("region", { name: /^Gateways/ }).locator("tbody tr");
    await expect.poll(() => rows.first().textContent()).toContain("Frankfurt 2");
    await visit.leave();
  });

  test("invites many users at once, and sees every invalid line and who was skipped", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users");
    await button(visit, "Invite users").click();
    const addresses = page.getByRole("textbox", { name: "Email addresses" });
    await addresses.fill("new-1@example.com\nnot an address\nagent-01@example.com\nnew-2@example.com");
    await page.getByText("Line 2: no email address").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "invite-users");
    visit.expectFailures(409);
    await button(visit, "Review").click();
    await page.getByText("These addresses cannot be invited and are skipped").waitFor();
    await effectOf(visit).getByText("Nobody’s access changes until the users accept.").waitFor();
    await effectOf(visit)
      .getByText(/^\d+ users gain access to/)
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "invite-users-review");
    await button(visit, "Invite 2 users").click();
    await page.getByText("2 users invited").waitFor();
    await page.getByText("These addresses were not invited").waitFor();
    await page.getByText("agent-01@example.com: is already a user").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await button(visit, "Not now").click();
    await page.getByRole("searchbox").fill("new-");
    await page.getByText("2 results", { exact: true }).waitFor();
    await visit.leave();
  });

  test("edits a user's name, attributes and groups in one form", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users?q=engineer-01");
    await page.getByRole("link", { name: "engineer-01@example.com" }).click();
    await button(visit, "Edit").click();
    await page.getByRole("textbox", { name: "Last name" }).fill("Of Many");
    await page
      .getByRole("textbox", { name: "Attributes" })
      .fill("department = Research\ncontractor = false\nfloor = 4");
    await page.getByRole("combobox", { name: "Groups" }).fill("Oper");
    await page.getByRole("option", { name: "Operations" }).click();
    await page.keyboard.press("Escape");
    await button(visit, "Review").click();
    // Three requests in one preview: a new member of operations gains the access of operations.
    await effectOf(visit).getByText("Gained:").first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "user-edit-review");
    await inDialog(visit, "Save").click();
    await page.getByRole("region", { name: "About" }).getByText("Of Many").waitFor();
    await page.getByRole("link", { name: "Operations" }).waitFor();
    const { body } = await given.client.get("/tenants/users?filter[email]=engineer-01@example.com");
    expect(body.data[0].attributes).toEqual({ department: "Research", contractor: false, floor: 4 });
    await visit.leave();
  });

  test("sees both versions if someone else saved first, and chooses one", async () => {
    const visit = await given.visit();
    const { page } = visit;
    const { body } = await given.client.post("/tenants/groups", { name: "Contested", description: "As it was" });
    await visit.open(`/groups/${body.id}`);
    await button(visit, "Edit").click();
    const description = page.getByRole("textbox", { name: "Description" });
    await description.fill("As I want it");
    await given.client.must.put(`/tenants/groups/${body.id}`, { description: "As they want it" });
    visit.expectFailures(412);
    await review(visit, "Save");
    await page.getByText("Someone else changed this record").waitFor();
    await page.getByRole("radio", { name: "As I want it" }).waitFor();
    await page.getByRole("radio", { name: "As they want it" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "conflict");
    await inDialog(visit, "Save").click();
    await effectOf(visit).waitFor();
    await inDialog(visit, "Save").click();
    await page.getByRole("region", { name: "About" }).getByText("As I want it").waitFor();
    expect((await given.client.get(`/tenants/groups/${body.id}`)).body.description).toBe("As I want it");
    await visit.leave();
  });

  test("keeps typed text when the session ends, and continues after signing in over the page", async () => {
    const visit = await given.visit();
    const { page, context } = visit;
    await visit.open("/groups?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Typed with care");
    await context.clearCookies();
    visit.expectFailures(401);
    // Another request may already have shown the dialog over the button.
    await button(visit, "Review").dispatchEvent("click");
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "session-ended");
    await inDialog(visit, "Use an API key").click();
    await page.locator("input[type=password]").fill(given.owner);
    await button(visit, "Sign in").click();
    await inDialog(visit, "Create").click();
    await heading(visit, "Typed with care").waitFor();
    await visit.leave();
  });

  test("finds pages and records by the command palette, without a mouse", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("textbox", { name: "Search" }).fill("account");
    await page.getByText("Accounting", { exact: true }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "palette");
    await page.getByRole("textbox", { name: "Search" }).fill("gateways");
    await page.keyboard.press("Enter");
    await heading(visit, "Gateways").waitFor();
    await visit.leave();
  });

  test("reads the audit record with previous and new values", async () => {
    const visit = await given.visit();
    const { page } = visit;
    const { body } = await given.client.post("/tenants/groups", { name: "Renamed" });
    await given.client.must.put(`/tenants/groups/${body.id}`, { name: "Renamed again" });
    await visit.open("/events?q=Renamed");
    await page.getByRole("link", { name: "Updated group" }).first().click();
    await page.getByRole("region", { name: "Before and after" }).getByRole("cell", { name: "Renamed again" }).waitFor();
    await visit.leave();
  });

  test("sees the text of an error, with the request's id to copy", async () => {
    const visit = await given.visit();
    const { page } = visit;
    visit.expectFailures(400, 422);
    await visit.open("/configuration");
    await page.getByRole("textbox", { name: "Configuration file (JSON)" }).fill('{ "version": 99 }');
    await button(visit, "Plan").click();
    await page.getByRole("alert").getByText("About this error").waitFor();
    await page.getByRole("button", { name: /^Copy request ID/ }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^[\w-]{36}$/);
    await visit.leave();
  });
});

test.runIf(hasBrowser)("the search for accessibility faults finds an existing one", async () => {
  const world = await openConsoleWorld();
  try {
    const visit = await world.visit();
    await visit.open("/");
    await button(visit, "Use an API key").waitFor();
    await visit.page.evaluate("document.querySelector('img').removeAttribute('alt')");
    expect((await accessibilityProblems(visit.page)).join()).toContain("image-alt");
  } finally {
    await world.close();
  }
});
