/**
 * The ten tasks of the console review of November 2026, starting on the overview. Each counts its interactions.
 * docs/benchmarks.md lists the counts beside those of the review.
 */
import { describe, expect, test } from "vitest";
import { hasBrowser, type Visit } from "./console-world.ts";
import { chooseByTyping, countInteractions, type Interactions, pressOn, typeInto } from "./interactions.ts";
import { button, effectOf, heading, inDialog, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

/** The most interactions of each task. None exceeds the count of the review. */
const mostInteractions = {
  health: 0,
  invite: 10,
  publish: 12,
  mend: 7,
  offboardPreview: 4,
  offboard: 5,
  undo: 3,
  deploy: 5,
  apiKey: 7,
  stale: 5,
  prove: 6,
} as const;

/** Keys that act and typed fields, without the mouse. */
const mostByKeyboard = { invite: 10, publish: 13, mend: 9, undo: 3 } as const;

const dayMs = 86_400_000;

describe.runIf(hasBrowser)("an administrator who has read nothing", () => {
  const given = storyWorld();

  /** @param now the time in the page, if it is not the real one */
  const start = async (now?: number): Promise<{ readonly visit: Visit; readonly interactions: Interactions }> => {
    // A tab records interactions until it is closed.
    const visit = await given.visit({ fresh: true });
    const interactions = await countInteractions(visit);
    if (now !== undefined) await visit.page.clock.setFixedTime(now);
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    return { visit, interactions };
  };
  const expectAtMost = async (interactions: Interactions, most: number) => {
    const done = await interactions.list();
    expect(done.length, done.join("\n")).toBeLessThanOrEqual(most);
  };
  const toPage = ({ page }: Visit, name: string) =>
    page.getByRole("navigation").getByRole("link", { name, exact: true });

  test("1: sees what is here and whether it works", async () => {
    const { visit, interactions } = await start();
    await region(visit, "Gateways").getByRole("list").getByText("Pending").waitFor();
    await region(visit, "Devices")
      .getByText(/of \d+ devices? online|online$/)
      .waitFor();
    await region(visit, "Unreachable resources")
      .getByText(/\d+ of \d+/)
      .waitFor();
    await region(visit, "Recent changes").getByRole("link").nth(1).waitFor();
    await expectAtMost(interactions, mostInteractions.health);
    await visit.leave();
  });

  const invited = ["ann", "bob", "eve"];
  const addressesOf = (team: string) => invited.map((name) => `${name}.${team}@example.com`).join("\n");
  const expectInvited = async (team: string, group: string) => {
    const { body } = await given.client.get(`/tenants/users?filter[email][ilike]=%25.${team}@example.com`);
    expect(body.data.map(({ groups }: { readonly groups: readonly { readonly name: string }[] }) => groups)).toEqual(
      invited.map(() => [expect.objectContaining({ name: group })]),
    );
  };

  test("2: invites three people from a pasted list into a new group, and gets their links", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await toPage(visit, "Users").click();
    await button(visit, "Invite users").click();
    await page.getByRole("textbox", { name: "Email addresses" }).fill(addressesOf("field"));
    await page.getByRole("combobox", { name: "Groups" }).fill("Field service");
    await page.getByRole("option", { name: "Create group “Field service”" }).click();
    await page.keyboard.press("Escape");
    await inDialog(visit, "Review").click();
    await inDialog(visit, "Invite 3 users").click();
    await inDialog(visit, "Create links").click();
    const download = page.waitForEvent("download");
    await inDialog(visit, "Export CSV").click();
    await download;
    await expectAtMost(interactions, mostInteractions.invite);
    await expectInvited("field", "Field service");
    await visit.leave();
  });

  test("2, by keyboard alone", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await pressOn(visit, toPage(visit, "Users"), "Enter");
    await heading(visit, "Users").waitFor();
    await pressOn(visit, button(visit, "Invite users"), "Enter");
    const addresses = page.getByRole("textbox", { name: "Email addresses" });
    await addresses.waitFor();
    // Enter in a text area starts a line, so the addresses are separated by commas.
    await typeInto(visit, addresses, addressesOf("night").replaceAll("\n", ", "));
    await chooseByTyping(
      visit,
      page.getByRole("combobox", { name: "Groups" }),
      "Night watch",
      page.getByRole("option", { name: "Create group “Night watch”" }),
    );
    await pressOn(visit, inDialog(visit, "Review"), "Enter");
    await effectOf(visit).waitFor();
    await expect.poll(() => inDialog(visit, "Invite 3 users").isEnabled()).toBe(true);
    await pressOn(visit, inDialog(visit, "Invite 3 users"), "Enter");
    await pressOn(visit, inDialog(visit, "Create links"), "Enter");
    const download = page.waitForEvent("download");
    await pressOn(visit, inDialog(visit, "Export CSV"), "Enter");
    await download;
    await interactions.expectNoMouse();
    await expectAtMost(interactions, mostByKeyboard.invite);
    await expectInvited("night", "Night watch");
    await visit.leave();
  });

  const expectPublished = async (name: string) => {
    const { body } = await given.client.get(
      `/tenants/policies?filter[name]=${encodeURIComponent(`Access to ${name}`)}`,
    );
    expect(body.data).toMatchObject([
      { action: true, groups: [{ name: "Engineering" }], resources: [{ name }], rule: { type: "CUSTOM" } },
    ]);
  };

  test("3: publishes a resource behind a new gateway, for a group and under conditions", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await page.getByRole("link", { name: "Publish a resource" }).first().click();
    await page.getByRole("textbox", { name: "Address" }).fill("manual.internal:443");
    await page.getByRole("combobox", { name: "Gateway" }).click();
    await page.getByRole("option", { name: "New gateway…" }).click();
    await page.getByRole("textbox", { name: "New gateway’s name" }).fill("Rack 7");
    await page.getByRole("combobox", { name: "Groups" }).click();
    await page.getByRole("option", { name: "Engineering", exact: true }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("checkbox", { name: "The device’s disk is encrypted" }).click();
    await page.getByRole("checkbox", { name: /^Only Monday to Friday/ }).click();
    await button(visit, "Review").click();
    await effectOf(visit).getByText(/gain/).first().waitFor();
    await button(visit, "Publish").click();
    await page.getByRole("heading", { name: "“Manual” is published" }).waitFor();
    await expectAtMost(interactions, mostInteractions.publish);
    await expectPublished("Manual");
    await visit.leave();
  });

  test("3, by keyboard alone", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await pressOn(visit, toPage(visit, "Publish a resource"), "Enter");
    await heading(visit, "Publish a resource").waitFor();
    await typeInto(visit, page.getByRole("textbox", { name: "Address" }), "atlas.internal:443");
    const gateway = page.getByRole("combobox", { name: "Gateway" });
    await pressOn(visit, gateway, "Enter");
    await page.getByRole("option", { name: "New gateway…" }).waitFor();
    // Upwards from the first gateway, the list continues at its end.
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await typeInto(visit, page.getByRole("textbox", { name: "New gateway’s name" }), "Rack 8");
    await chooseByTyping(
      visit,
      page.getByRole("combobox", { name: "Groups" }),
      "Engineering",
      page.getByRole("option", { name: "Engineering", exact: true }),
    );
    await pressOn(visit, page.getByRole("checkbox", { name: "The device’s disk is encrypted" }), "Space");
    await pressOn(visit, page.getByRole("checkbox", { name: /^Only Monday to Friday/ }), "Space");
    await pressOn(visit, button(visit, "Review"), "Enter");
    await effectOf(visit).getByText(/gain/).first().waitFor();
    await pressOn(visit, button(visit, "Publish"), "Enter");
    await page.getByRole("heading", { name: "“Atlas” is published" }).waitFor();
    await interactions.expectNoMouse();
    await expectAtMost(interactions, mostByKeyboard.publish);
    await expectPublished("Atlas");
    await visit.leave();
  });

  test("4: finds out why a person cannot reach a resource, and changes that", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await toPage(visit, "Access").click();
    await page.getByRole("combobox", { name: "User", exact: true }).fill("engineer-01");
    await page.getByRole("option", { name: "engineer-01@example.com" }).click();
    await page.getByRole("combobox", { name: "Resource", exact: true }).fill("Personnel");
    await page.getByRole("option", { name: "Personnel files" }).click();
    await region(visit, "Decision").getByText("Denied").waitFor();
    await button(visit, "Add to group “People”").click();
    await inDialog(visit, "Add to group “People”").click();
    await region(visit, "Decision")
      .getByText(/^Allowed/)
      .waitFor();
    await expectAtMost(interactions, mostInteractions.mend);
    await visit.leave();
  });

  test("4, by keyboard alone", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await pressOn(visit, toPage(visit, "Access"), "Enter");
    await heading(visit, "Access").waitFor();
    const choose = (field: string, text: string, option: string) =>
      chooseByTyping(
        visit,
        page.getByRole("combobox", { name: field, exact: true }),
        text,
        page.getByRole("option", { name: option }),
      );
    await choose("User", "engineer-02", "engineer-02@example.com");
    await choose("Resource", "Personnel", "Personnel files");
    await region(visit, "Decision").getByText("Denied").waitFor();
    await pressOn(visit, button(visit, "Add to group “People”"), "Enter");
    await effectOf(visit).waitFor();
    await expect.poll(() => inDialog(visit, "Add to group “People”").isEnabled()).toBe(true);
    await pressOn(visit, inDialog(visit, "Add to group “People”"), "Enter");
    await region(visit, "Decision")
      .getByText(/^Allowed/)
      .waitFor();
    await interactions.expectNoMouse();
    await expectAtMost(interactions, mostByKeyboard.mend);
    await visit.leave();
  });

  test("5: off-boards a person, and sees first what is lost", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await toPage(visit, "Users").click();
    await page.getByRole("searchbox").fill("seller-02");
    await page.getByText("1 result", { exact: true }).waitFor();
    await page.getByRole("link", { name: "seller-02@example.com" }).click();
    await button(visit, "Deactivate").click();
    await effectOf(visit).getByText("Lost:").first().waitFor();
    await expectAtMost(interactions, mostInteractions.offboardPreview);
    await inDialog(visit, "Deactivate").click();
    await page.getByText("Deactivated", { exact: true }).first().waitFor();
    await expectAtMost(interactions, mostInteractions.offboard);
    await visit.leave();
  });

  /** Changes a policy like a colleague does. */
  const changePolicy = async (description: string): Promise<string> => {
    const id = await given.idOf("policies", "Production for operations");
    await given.client.must.patch(`/tenants/policies/${id}`, { description });
    return id;
  };
  const descriptionOf = async (id: string) => (await given.client.get(`/tenants/policies/${id}`)).body.description;

  test("6: sees who changed a policy, and undoes it", async () => {
    const before = await descriptionOf(await given.idOf("policies", "Production for operations"));
    const id = await changePolicy("Changed by a colleague");
    const { visit, interactions } = await start();
    const { page } = visit;
    await region(visit, "Recent changes")
      .getByRole("link", { name: /Updated policy.*Production for operations/ })
      .first()
      .click();
    await page.getByText("First key").first().waitFor();
    await button(visit, "Preview revert").click();
    await inDialog(visit, "Revert").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectAtMost(interactions, mostInteractions.undo);
    expect(await descriptionOf(id)).toEqual(before);
    await visit.leave();
  });

  test("6, by keyboard alone", async () => {
    const before = await descriptionOf(await given.idOf("policies", "Production for operations"));
    const id = await changePolicy("Changed again");
    const { visit, interactions } = await start();
    const { page } = visit;
    const change = region(visit, "Recent changes").getByRole("link", {
      name: /Updated policy.*Production for operations/,
    });
    await pressOn(visit, change.first(), "Enter");
    await pressOn(visit, button(visit, "Preview revert"), "Enter");
    await effectOf(visit).waitFor();
    await expect.poll(() => inDialog(visit, "Revert").isEnabled()).toBe(true);
    await pressOn(visit, inDialog(visit, "Revert"), "Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await interactions.expectNoMouse();
    await expectAtMost(interactions, mostByKeyboard.undo);
    expect(await descriptionOf(id)).toEqual(before);
    await visit.leave();
  });

  test("7: rotates the token of a gateway, and copies the command that deploys it", async () => {
    const all: readonly { readonly id: string; readonly name: string }[] = (await given.client.get("/tenants/gateways"))
      .body;
    const { id } = all.find(({ name }) => name === "Frankfurt 1") ?? expect.fail("the example has no such gateway");
    const { visit, interactions } = await start();
    const { page } = visit;
    await region(visit, "Gateways").getByRole("link", { name: "Frankfurt 1" }).click();
    await button(visit, "More").click();
    await page.getByRole("menuitem", { name: "Rotate token" }).click();
    await inDialog(visit, "Rotate token").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { token } = (await given.client.get(`/tenants/gateways/${id}`)).body;
    // The page reads its gateway every two seconds.
    await page.waitForResponse(
      async (response) => response.url().endsWith(`/gateways/${id}`) && (await response.json()).token === token,
    );
    await region(visit, "Deploy").getByRole("button", { name: /^Copy/ }).click();
    await expectAtMost(interactions, mostInteractions.deploy);
    // The page shows the response a moment after it has come.
    await expect
      .poll(async () => {
        await region(visit, "Deploy").getByRole("button", { name: /^Cop/ }).click();
        return page.evaluate("navigator.clipboard.readText()");
      })
      .toContain(token);
    await visit.leave();
  });

  test("8: creates an API key for Terraform with the permissions that it needs", async () => {
    const { visit, interactions } = await start();
    const { page } = visit;
    await toPage(visit, "API keys").click();
    await button(visit, "Create API key").click();
    await page.getByRole("textbox", { name: "Name" }).fill("Terraform");
    await inDialog(visit, /^Infrastructure as code/).click();
    await inDialog(visit, "Create").click();
    await inDialog(visit, "Copy key").click();
    await inDialog(visit, "I have saved it").click();
    await heading(visit, "Terraform").waitFor();
    await expectAtMost(interactions, mostInteractions.apiKey);
    const { body } = await given.client.get("/tenants/api-keys");
    const key = body.find(({ name }: { readonly name: string }) => name === "Terraform");
    expect(key.permissions).toContain("policies:write");
    expect(key.permissions).not.toContain("users:write");
    expect(key.permissions).not.toContain("gateways:token");
    await visit.leave();
  });

  test("9: finds devices that were not seen for 30 days, and deactivates one", async () => {
    // The example's devices are new. They count as not seen later.
    const { visit, interactions } = await start(Date.now() + 40 * dayMs);
    const { page } = visit;
    const before = (await given.client.get("/tenants/devices?filter[active]=true&limit=1")).body.total;
    await toPage(visit, "Devices").click();
    await page.getByText("30 days", { exact: true }).click();
    await page.waitForURL(/notSeen=30/);
    await page
      .getByRole("checkbox", { name: /^Select \w+-\d+-/ })
      .first()
      .click();
    await button(visit, "Deactivate").click();
    await inDialog(visit, "Deactivate").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectAtMost(interactions, mostInteractions.stale);
    await expect
      .poll(async () => (await given.client.get("/tenants/devices?filter[active]=true&limit=1")).body.total)
      .toBe(before - 1);
    await visit.leave();
  });

  test("10: proves what a contractor could reach at a time in the past", async () => {
    const past = new Date().toLocaleString("sv-SE", { timeZone: "Europe/Berlin" }).replace(" ", "T");
    const { visit, interactions } = await start();
    const { page } = visit;
    await toPage(visit, "Access").click();
    await page.getByText("What can they reach?", { exact: true }).click();
    await page.getByRole("combobox", { name: "User", exact: true }).fill("engineer-05");
    await page.getByRole("option", { name: "engineer-05@example.com" }).click();
    await button(visit, "now").click();
    await page.locator("input[type=datetime-local]").fill(past);
    await page.getByText(/^Uses the configuration of/).waitFor();
    await region(visit, /^\d+ results?/)
      .getByRole("link", { name: "Wiki" })
      .first()
      .waitFor();
    await expectAtMost(interactions, mostInteractions.prove);
    await visit.leave();
  });
});
