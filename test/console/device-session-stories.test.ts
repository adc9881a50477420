/** Administrators of devices: approvals, enrolment keys, sessions, and asking people to sign in again. */
import path from "node:path";
import { activeUser } from "@gatehouse/server/testing/signed-in-person";
import { beforeAll, describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, type Visit } from "./console-world.ts";
import { enrolBySignIn } from "./enrol-device.ts";
import { button, chooseAction, heading, inDialog, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const pictures = process.env.GATEHOUSE_TEST_PICTURES;
const widths = [1440, 390] as const;

describe.runIf(hasBrowser)("an administrator of devices", () => {
  const given = storyWorld();
  let tenantId = "";
  let keys = 0;

  beforeAll(async () => {
    const { body } = await given.world.server.operator.must.get("/operator/tenants?sort=createdAt");
    tenantId = body.data[0].id;
  });

  async function newPerson(email: string): Promise<string> {
    const { id } = await activeUser(given.world.server, { id: tenantId, client: given.client }, email);
    await given.client.must.patch(`/tenants/users/${id}`, { maxDevices: 10 });
    return id;
  }

  async function enrolled(userId: string, machine: string): Promise<string> {
    keys += 1;
    const publicKey = `${String.fromCharCode(102 + keys).repeat(42)}A=`;
    return enrolBySignIn(given.world, { tenantId, userId, machine, publicKey });
  }

  /** Checks the page as it is, and on a narrow screen. */
  async function inspect({ page }: Visit, name: string): Promise<void> {
    await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
    const size = page.viewportSize() ?? expect.fail("the page has no size");
    for (const width of widths) {
      await page.setViewportSize({ width, height: size.height });
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      expect(await page.evaluate("document.documentElement.scrollWidth"), name).toBeLessThanOrEqual(width);
      expect(await accessibilityProblems(page), name).toEqual([]);
      if (pictures !== undefined) await page.screenshot({ path: path.join(pictures, `${name}-${width}.png`) });
    }
    await page.setViewportSize(size);
  }

  const rowOf = ({ page }: Visit, name: string) => page.locator("main").getByRole("row", { name: new RegExp(name) });

  test("approves one device and refuses another, and the list becomes empty", async () => {
    const person = await newPerson("approvals@example.com");
    await given.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    const approved = await enrolled(person, "Approved laptop");
    const refused = await enrolled(person, "Unknown laptop");
    await given.client.must.put("/tenants/settings", { deviceApproval: "automatic" });
    const visit = await given.visit();
    await visit.open("/device-approvals");
    await heading(visit, "Device approvals").waitFor();
    await rowOf(visit, "Approved laptop").waitFor();
    await inspect(visit, "device-approvals");
    await rowOf(visit, "Approved laptop").getByRole("button", { name: "Approve", exact: true }).click();
    await visit.page.getByText("approvals@example.com enrolled this device.").waitFor();
    await inspect(visit, "device-approval-dialog");
    await inDialog(visit, "Approve").click();
    await rowOf(visit, "Approved laptop").waitFor({ state: "detached" });
    await rowOf(visit, "Unknown laptop").getByRole("button", { name: "Refuse", exact: true }).click();
    await inDialog(visit, "Refuse").click();
    await visit.page.getByText("No devices are awaiting approval").waitFor();
    await inspect(visit, "device-approvals-empty");
    const { body } = await given.client.must.get(`/tenants/devices/${approved}`);
    expect([body.active, body.approval]).toEqual([true, undefined]);
    expect((await given.client.get(`/tenants/devices/${refused}`)).status).toBe(404);
    await visit.leave();
  });

  test("creates an enrolment key, which is shown once, and revokes it", async () => {
    await newPerson("servers@example.com");
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/enrolment-keys");
    await button(visit, "Create enrolment key").first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: /^Name/ }).fill("Build servers");
    const user = dialog.getByRole("textbox", { name: /^User/ }).or(dialog.getByRole("combobox", { name: /^User/ }));
    await user.first().fill("servers@example.com");
    await page.getByRole("option", { name: /servers@example.com/ }).click();
    await dialog.getByRole("textbox", { name: /^Name/ }).click();
    await page.getByRole("option").first().waitFor({ state: "hidden" });
    await inspect(visit, "enrolment-key-form");
    await inDialog(visit, "Create").click();
    await dialog.getByText(/gatehouse_enrolkey_/).waitFor();
    await inspect(visit, "enrolment-key-created");
    await page.keyboard.press("Escape");
    const done = inDialog(visit, /^(Close|Done|I have saved it)/);
    if ((await done.count()) > 0) await done.first().click();
    await heading(visit, "Build servers").waitFor();
    expect(await page.getByText(/gatehouse_enrolkey_[0-9A-Za-z]{20}/).count()).toBe(0);
    await inspect(visit, "enrolment-key");
    await button(visit, "Revoke").click();
    await inDialog(visit, "Revoke").click();
    await page.locator(".status", { hasText: "Revoked" }).waitFor();
    await visit.leave();
  });

  test("sees sessions with their ends, and requires sign-in on a device, for a user and for a group", async () => {
    await given.client.must.put("/tenants/settings", { deviceSessionLifetime: 28_800 });
    const [ann, bob] = [await newPerson("sessions.ann@example.com"), await newPerson("sessions.bob@example.com")];
    const laptop = await enrolled(ann, "Story laptop");
    await enrolled(ann, "Story tablet");
    await enrolled(bob, "Story desktop");
    const { body: group } = await given.client.must.post("/tenants/groups", { name: "Story group" });
    for (const id of [ann, bob]) await given.client.must.post(`/tenants/users/${id}/groups`, { groupId: group.id });
    const visit = await given.visit();
    const { page } = visit;

    await visit.open("/device-sessions?q=Story");
    await heading(visit, "Device sessions").waitFor();
    await rowOf(visit, "Story laptop").getByText("Active").waitFor();
    await inspect(visit, "device-sessions");

    await visit.open(`/devices/${laptop}`);
    await chooseAction(visit, "Require new sign-in");
    await page.getByText("1 device will lose access until its user signs in on it again.").waitFor();
    await inspect(visit, "ask-device");
    await inDialog(visit, "Require new sign-in").click();
    await page.getByText("A new sign-in was required").waitFor();
    await inspect(visit, "asked-device");

    await visit.open(`/users/${ann}`);
    const sessions = region(visit, /^Device sessions/);
    await sessions.getByText("Ended").waitFor();
    await sessions.getByText("Active").waitFor();
    await sessions.getByRole("button", { name: "Require new sign-in" }).click();
    // The laptop has lost its access already.
    await page.getByText("1 device will lose access").waitFor();
    await inDialog(visit, "Require new sign-in").click();
    await expect.poll(() => sessions.getByText("Ended").count()).toBe(2);
    await inspect(visit, "user-device-sessions");

    await visit.open(`/groups/${group.id}`);
    await button(visit, "Require new sign-in").click();
    await page.getByText("1 device will lose access").waitFor();
    await page.getByText("Devices that were enrolled with an enrolment key keep their access.").waitFor();
    await inspect(visit, "ask-group");
    await inDialog(visit, "Require new sign-in").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });

    await visit.open("/device-sessions?state=ended");
    for (const name of ["Story laptop", "Story tablet", "Story desktop"]) await rowOf(visit, name).waitFor();
    await page
      .getByText(/A new sign-in was required by/)
      .first()
      .waitFor();
    await inspect(visit, "device-sessions-ended");
    await given.client.must.put("/tenants/settings", { deviceSessionLifetime: null });
    await visit.leave();
  });

  test("who may only read is offered none of this", async () => {
    const visit = await given.visitAsAuditor();
    await visit.open("/device-sessions");
    await heading(visit, "Device sessions").waitFor();
    await visit.open("/device-approvals");
    await heading(visit, "Device approvals").waitFor();
    expect(await button(visit, "Require new sign-in").count()).toBe(0);
    expect(await button(visit, "Approve").count()).toBe(0);
    await visit.leave();
  });
});
