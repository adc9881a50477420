/** Addresses, protocols, roles, keys, webhooks and devices, and the effect of every change on access. */
import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture } from "./console-world.ts";
import { button, chooseAction, effectOf, heading, inDialog, review, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an administrator with forms", () => {
  const given = storyWorld();

  test("creates a protocol and an address that has it, changes the address, and deletes both", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/protocols?new=1");
    await page.getByRole("textbox", { name: "Port or range" }).fill("70000");
    visit.expectFailures(400);
    await inDialog(visit, "Create").click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("textbox", { name: "Port or range" }).fill("8443");
    await button(visit, "Add another protocol").click();
    await page.getByRole("combobox", { name: "Protocol 2" }).click();
    await page.getByRole("option", { name: "UDP" }).click();
    await page.getByRole("textbox", { name: "Port or range 2" }).fill("5000-5100");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "protocol-new");
    await page.getByRole("textbox", { name: "Name" }).fill("Telemetry");
    await inDialog(visit, "Create").click();
    await heading(visit, "Telemetry").waitFor();
    await page.getByText(/TCP 8443, UDP 5000–5100/).waitFor();

    await visit.open("/addresses");
    await button(visit, "Add address").click();
    await page.getByRole("dialog").getByRole("combobox", { name: "Resource" }).fill("Wiki");
    await page.getByRole("option", { name: "Wiki", exact: true }).click();
    await page.getByRole("textbox", { name: "Address" }).fill("telemetry.corp.example.com");
    await page.getByRole("combobox", { name: "Protocols" }).fill("Telem");
    await page.getByRole("option", { name: "Telemetry" }).click();
    await page.keyboard.press("Tab");
    await inDialog(visit, "Review").click();
    await effectOf(visit)
      .getByText(/access changes/)
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "address-new-review");
    await inDialog(visit, "Add").click();
    await heading(visit, "telemetry.corp.example.com").waitFor();
    await page.getByRole("link", { name: "Telemetry" }).waitFor();
    await picture(page, "address-one");

    await button(visit, "Edit").click();
    await page.getByRole("textbox", { name: "Address" }).fill("metrics.corp.example.com");
    await review(visit, "Save");
    await heading(visit, "metrics.corp.example.com").waitFor();
    await chooseAction(visit, "Delete");
    await effectOf(visit)
      .getByText(/access changes/)
      .waitFor();
    await inDialog(visit, "Delete").click();
    await heading(visit, "Addresses").waitFor();

    await visit.open("/protocols?q=Telemetry");
    await page.getByRole("link", { name: "Telemetry" }).click();
    await page.getByText("An address accepts the protocols").waitFor();
    await button(visit, "Delete").click();
    await inDialog(visit, "Delete").click();
    await heading(visit, "Protocols").waitFor();
    expect((await given.client.get("/tenants/protocols")).body.map(({ name }: { name: string }) => name)).not.toContain(
      "Telemetry",
    );
    await visit.leave();
  });

  test("creates a key whose secret is shown once, replaces it, and revokes it", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/api-keys");
    await button(visit, "Create API key").click();
    await page.getByRole("textbox", { name: "Name" }).fill("Nightly report");
    await button(visit, /^Auditor/).click();
    await page.getByRole("checkbox", { name: "Read Webhooks" }).uncheck();
    await page.getByRole("checkbox", { name: "Write Groups" }).check();
    await page.locator("input[type=datetime-local]").fill("2099-01-31T12:00");
    await page.getByRole("combobox", { name: "Source addresses" }).fill("192.0.2.0/24");
    await page.keyboard.press("Enter");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "api-key-new");
    await inDialog(visit, "Create").click();
    await page.getByRole("dialog", { name: "API key “Nightly report”" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await button(visit, "Copy key").click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toMatch(/^gatehouse_key_/);
    await page.keyboard.press("Escape");
    await picture(page, "secret-once");
    await button(visit, "I have saved it").click();
    await heading(visit, "Nightly report").waitFor();
    await page.getByText("192.0.2.0/24").waitFor();
    await picture(page, "api-key-one");
    const keys = (await given.client.get("/tenants/api-keys")).body;
    const made = keys.find(({ name }: { name: string }) => name === "Nightly report");
    expect(made.permissions).toContain("groups:write");
    expect(made.permissions).not.toContain("webhooks:read");
    expect(Date.parse(made.expiresAt)).toBe(Date.parse("2099-01-31T12:00+01:00"));

    await button(visit, "Rotate").click();
    await inDialog(visit, "Rotate").click();
    await page.getByRole("dialog", { name: /^New key for/ }).waitFor();
    await button(visit, "I have saved it").click();
    await expect.poll(() => page.url()).not.toContain(made.id);
    await visit.open(`/api-keys/${made.id}`);
    await page.getByText("Replaced, still valid").waitFor();
    await button(visit, "Revoke").click();
    await page.getByText("stop working immediately").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await inDialog(visit, "Revoke").click();
    await heading(visit, "API keys").waitFor();
    expect((await given.client.get(`/tenants/api-keys/${made.id}`)).status).toBe(404);
    await visit.leave();
  });

  test("offers no more permissions for a new key than the key in use holds", async () => {
    const { body } = await given.client.post("/tenants/api-keys", {
      name: "Keys alone",
      permissions: ["api-keys:read", "api-keys:write", "users:read"],
    });
    const visit = await given.visit({ key: body.key });
    const { page } = visit;
    await visit.open("/api-keys?new=1");
    await button(visit, /^Administrator/).click();
    await expect.poll(() => page.getByRole("checkbox", { name: "Read Users" }).isChecked()).toBe(true);
    await expect.poll(() => page.getByRole("checkbox", { name: "Write Users" }).isDisabled()).toBe(true);
    await expect.poll(() => page.getByRole("checkbox", { checked: true }).count()).toBe(3);
    await visit.leave();
  });

  test("sees a role's permissions and holders, assigns the role, and removes it", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/roles");
    await page.getByRole("link", { name: "Support" }).click();
    await heading(visit, "Support").waitFor();
    await page.getByRole("row", { name: /^Devices/ }).waitFor();
    await button(visit, "Assign to a user").click();
    await page.getByRole("combobox", { name: "User" }).fill("agent-01");
    await page.getByRole("option", { name: "agent-01@example.com" }).click();
    await review(visit, "Assign");
    await button(visit, "Remove agent-01@example.com").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "role-one");
    await button(visit, "Remove agent-01@example.com").click();
    await effectOf(visit)
      .getByText(/access changes/)
      .waitFor();
    await inDialog(visit, "Remove").click();
    await expect.poll(() => button(visit, "Remove agent-01@example.com").count()).toBe(0);
    await visit.leave();
  });

  test("deactivates and reactivates a device and a user, each with its effect", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users?q=engineer-02");
    await page.getByRole("link", { name: "engineer-02@example.com" }).click();
    for (const what of ["user", "device"]) {
      if (what === "device") await page.getByRole("region", { name: "Devices" }).getByRole("link").first().click();
      await button(visit, "Deactivate").click();
      await effectOf(visit).getByText("Lost:").first().waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await picture(page, `deactivate-${what}`);
      await inDialog(visit, "Deactivate").click();
      await button(visit, "Reactivate").click();
      await effectOf(visit).getByText("Gained:").first().waitFor();
      await inDialog(visit, "Reactivate").click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await visit.leave();
  });

  test("previews who loses access by maintenance, a disconnected gateway, and a deletion", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/gateways?q=Frankfurt 1");
    await page.getByRole("link", { name: "Frankfurt 1" }).click();
    await chooseAction(visit, "Start maintenance");
    await effectOf(visit)
      .getByText(/access changes|Lost:/)
      .first()
      .waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await inDialog(visit, "Cancel").click();
    // A policy names the gateway: the refusal is shown before the button is pressed.
    visit.expectFailures(409);
    await chooseAction(visit, "Delete");
    await page.getByText("token will stop working").waitFor();
    await effectOf(visit)
      .getByText(/access changes|Lost:/)
      .or(effectOf(visit).getByRole("alert"))
      .first()
      .waitFor();
    await picture(page, "gateway-delete");
    await inDialog(visit, "Cancel").click();

    await visit.open(`/resources/${await given.idOf("resources", "Wiki")}`);
    await page
      .getByRole("button", { name: /^Remove / })
      .first()
      .click();
    await effectOf(visit)
      .getByText(/access changes|Lost:/)
      .first()
      .waitFor();
    await picture(page, "address-remove");
    await inDialog(visit, "Cancel").click();
    await page
      .getByRole("button", { name: /^Disconnect / })
      .first()
      .click();
    await effectOf(visit)
      .getByText(/access changes|Lost:/)
      .first()
      .waitFor();
    await inDialog(visit, "Cancel").click();
    expect(
      (await given.client.get("/tenants/resources?filter[name]=Wiki")).body.data[0].addresses.length,
    ).toBeGreaterThan(0);
    await visit.leave();
  });

  test("is blocked by an enforced access test when a user joins a group, and continues with a reason", async () => {
    const test = await given.client.post("/tenants/access-tests", {
      name: "This engineer never reaches the terminals",
      subject: { type: "user", id: "engineer-03@example.com" },
      resource: { type: "resource", id: "Warehouse terminals" },
      expected: "denied",
      enforced: true,
    });
    expect(test.status).toBe(201);
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users?q=engineer-03");
    await page.getByRole("link", { name: "engineer-03@example.com" }).click();
    await button(visit, "Edit").click();
    await page.getByRole("textbox", { name: "First name" }).fill("Held");
    await page.getByRole("combobox", { name: "Groups" }).fill("Oper");
    await page.getByRole("option", { name: "Operations" }).click();
    await page.keyboard.press("Escape");
    await button(visit, "Review").click();
    await effectOf(visit)
      .getByText(/access changes|Gained:/)
      .first()
      .waitFor();
    await effectOf(visit).getByText("Access tests that this change breaks").waitFor();
    visit.expectFailures(409);
    await inDialog(visit, "Save").click();
    await page.getByRole("textbox", { name: "Reason for the override" }).fill("Stands in for a colleague");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "user-override");
    await button(visit, "Override and save").click();
    await page.getByRole("region", { name: "About" }).getByRole("link", { name: "Operations" }).waitFor();
    // One change set: both entries have the reason, and each change was written once.
    const events = await given.client.get("/tenants/events?filter[target.name]=engineer-03@example.com&sort=-position");
    const told = events.body.data.map(({ operation, reason }: { operation: string; reason?: string }) => [
      operation,
      reason,
    ]);
    expect(told.slice(0, 2)).toEqual([
      ["updateUserGroups", "Stands in for a colleague"],
      ["updateUserProfile", "Stands in for a colleague"],
    ]);
    await given.client.must.delete(`/tenants/access-tests/${test.body.id}`);
    await visit.leave();
  });
});

describe.runIf(hasBrowser)("an administrator of webhooks", () => {
  const given = storyWorld();
  test("creates a webhook, sends a test, sees its result, and delivers it again", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/webhooks?new=1");
    await page.getByRole("textbox", { name: "URL" }).fill("ftp://hooks.example.com");
    visit.expectFailures(400, 422);
    await inDialog(visit, "Create").click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("textbox", { name: "URL" }).fill("https://hooks.example.com/gatehouse");
    await page.getByRole("textbox", { name: "Name" }).fill("Chat");
    await page.getByRole("combobox", { name: "Events" }).fill("group.");
    await page.getByRole("option", { name: "group.created" }).click();
    await page.keyboard.press("Tab");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "webhook-new");
    await inDialog(visit, "Create").click();
    await page
      .getByRole("dialog", { name: "Secret of “Chat”" })
      .getByText(/^whsec_/)
      .waitFor();
    await button(visit, "I have saved it").click();
    await heading(visit, "Chat").waitFor();
    await page.getByText("No deliveries yet").waitFor();
    await button(visit, "More").click();
    await page.getByRole("menuitem", { name: "Send a test message" }).click();
    await page.getByRole("cell", { name: "webhook.test" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "webhook-one");
    await button(visit, "Redeliver").click();
    await page.getByText("Delivery scheduled").waitFor();
    await button(visit, "Edit").click();
    await page.getByRole("switch", { name: "Active" }).click();
    await inDialog(visit, "Save").click();
    await page.getByText("Deactivated", { exact: true }).waitFor();
    await chooseAction(visit, "Rotate secret");
    await inDialog(visit, "Rotate secret").click();
    await page.getByText(/^whsec_/).waitFor();
    await button(visit, "I have saved it").click();
    // The list of deliveries may be read once more while the webhook is being deleted.
    visit.expectFailures(400, 404, 422);
    await chooseAction(visit, "Delete");
    await page.getByText("cancel pending deliveries").waitFor();
    await inDialog(visit, "Delete").click();
    await heading(visit, "Webhooks").waitFor();
    await visit.leave();
  });
});
