/** A person without roles: own access, own devices, and nothing else. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { activeUser, signInAs } from "@gatehouse/server/testing/signed-in-person";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityProblemsInBothThemes, hasBrowser, type VisitOptions } from "./console-world.ts";
import { button, heading, inDialog, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const pictures = process.env.GATEHOUSE_TEST_PICTURES;

async function picture(page: Page, name: string): Promise<void> {
  if (pictures !== undefined) await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true });
}

describe.runIf(hasBrowser)("a person without roles", () => {
  const given = storyWorld();

  async function newPerson(email: string) {
    const { server, client } = given.world;
    const { body: tenants } = await server.operator.must.get("/operator/tenants?sort=createdAt");
    const tenantId: string = tenants.data[0].id;
    const { id } = await activeUser(server, { id: tenantId, client }, email);
    // A command, so that the models follow.
    await client.must.patch(`/tenants/users/${id}`, { maxDevices: 2 });
    return { id, tenantId };
  }

  async function enrol(userId: string, name: string, letter: string): Promise<string> {
    const { body } = await given.client.must.post("/tenants/devices", {
      name,
      userId,
      hardwareId: `hardware-${name}`,
      publicKey: `${letter.repeat(42)}A=`,
    });
    return body.id;
  }

  async function visitAs({ id, tenantId }: { id: string; tenantId: string }, options: Omit<VisitOptions, "key"> = {}) {
    const visit = await given.world.visit(options);
    const { cookie = "" } = await signInAs(given.world.server, tenantId, id);
    const [name = "", value = ""] = cookie.split("=");
    const domain = new URL(given.world.url).hostname;
    await visit.context.addCookies([{ name, value, domain, path: "/", httpOnly: true, sameSite: "Strict" }]);
    return visit;
  }

  async function resource(name: string, address: string, policy: object): Promise<void> {
    const { body: protocols } = await given.client.must.get("/tenants/protocols");
    const all = protocols.find(({ type }: { type: string }) => type === "ALL").id;
    const { body } = await given.client.must.post("/tenants/resources", {
      name,
      type: "PRIVATE",
      addresses: [{ address, protocols: [all] }],
    });
    const fields = { name: `To ${name}`, type: "PRIVATE", action: true, resources: [body.id], ...policy };
    await given.client.must.post("/tenants/policies", fields);
  }

  test("lands on the own page, learns what is missing, renames a device by keyboard and removes another", async () => {
    const ann = await newPerson("ann.visitor@example.com");
    await enrol(ann.id, "Laptop", "B");
    await enrol(ann.id, "Old phone", "C");
    await resource("Handbook", "handbook.internal", { users: [ann.id] });
    await resource("Machine room", "10.7.0.9", { users: [ann.id], sourceIps: ["198.51.100.0/24"] });
    const visit = await visitAs(ann);
    const { page } = visit;
    await page.goto(`${given.world.url}/my/`);
    await heading(visit, "My access and devices").waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/my");
    await visit.open("/");
    await heading(visit, "My access and devices").waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);

    await page.getByText("handbook.internal").waitFor();
    await button(visit, "Why? Machine room").press("Enter");
    await page.getByText("Available only from these networks: 198.51.100.0/24").waitFor();
    await page.getByRole("textbox", { name: /Something missing/ }).fill("payroll.internal");
    await page.keyboard.press("Enter");
    await page.getByText("You have no access to this through Gatehouse").waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);

    const rename = button(visit, "Rename Laptop");
    await rename.focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("INPUT");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("Work laptop");
    await page.keyboard.press("Enter");
    await button(visit, "Rename Work laptop").waitFor();

    expect(await button(visit, "Add device").isDisabled()).toBe(true);
    await button(visit, "Remove Old phone").click();
    await inDialog(visit, "Remove").click();
    await button(visit, "Remove Old phone").waitFor({ state: "detached" });
    await button(visit, "Add device").click();
    await page.getByRole("radio", { name: /Linux computer/ }).check();
    await page
      .getByRole("dialog")
      .getByText(/gatehouse-device enrol --url/)
      .waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Escape");

    await region(visit, "Sessions").getByText("This session").waitFor();
    await region(visit, "Sessions").getByRole("button", { name: "Sign out everywhere" }).click();
    visit.expectFailures(401);
    await page
      .getByRole("button", { name: /Sign in with/ })
      .first()
      .waitFor();
    await visit.leave();
  });

  test("adds a phone with the WireGuard app by keyboard at 390 pixels, and updates its file", async () => {
    const person = await newPerson("phone.person@example.com");
    await given.client.must.put("/tenants/settings", { deviceSessionLifetime: 3600 });
    const visit = await visitAs(person, { width: 390 });
    const { page } = visit;
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.url() + (request.postData() ?? "")));
    await visit.open("/my");
    await button(visit, "Add device").press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name of the device" }).waitFor();
    const isInName = () => page.evaluate<boolean>("document.activeElement.matches('input:not([type=radio])')");
    await expect.poll(() => page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
    for (let presses = 0; !(await isInName()) && presses < 10; presses++) await page.keyboard.press("Tab");
    await page.keyboard.type("Phone");
    await picture(page, "my-add-390");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Enter");

    await page.getByRole("img", { name: "QR code for Phone" }).waitFor();
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture(page, "my-file-390");
    const saved = page.waitForEvent("download");
    await button(visit, "Download file").press("Enter");
    const download = await saved;
    expect(download.suggestedFilename()).toBe("gatehouse.conf");
    const file = await readFile(await download.path(), "utf8");
    const privateKey = /^PrivateKey = (\S{44})$/m.exec(file)?.[1] ?? "";
    expect(privateKey).not.toBe("");
    expect(file).toMatch(/^Address = 100\.\d+\.\d+\.\d+\/32, fd/m);
    await page.keyboard.press("Escape");
    await button(visit, "I have saved it").press("Enter");
    await dialog.waitFor({ state: "detached" });

    await page.getByText("Signed in until").waitFor();
    await button(visit, "Sign in again on Phone").press("Enter");
    await page.getByText("The device is signed in again").waitFor();
    await button(visit, "Update file for Phone").press("Enter");
    await page.getByText("is not updated by itself").waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture(page, "my-update-390");
    await expect.poll(() => button(visit, "Choose file").isDisabled()).toBe(false);
    const choosing = page.waitForEvent("filechooser");
    await button(visit, "Choose file").press("Enter");
    await (await choosing).setFiles({ name: "gatehouse.conf", mimeType: "text/plain", buffer: Buffer.from(file) });
    await page.getByRole("img", { name: "QR code for Phone" }).waitFor();
    const again = page.waitForEvent("download");
    await button(visit, "Download file").press("Enter");
    expect(await readFile(await (await again).path(), "utf8")).toBe(file);
    await button(visit, "I have saved it").press("Enter");
    expect(sent.some((text) => text.includes(privateKey) || text.includes(encodeURIComponent(privateKey)))).toBe(false);
    expect(sent.some((text) => text.includes('"publicKey"'))).toBe(true);

    await picture(page, "my-devices-390");
    await button(visit, "Remove Phone").press("Enter");
    await inDialog(visit, "Remove").press("Enter");
    await page.getByText(/^You have no device yet\. Add the computer/).waitFor();
    await given.client.must.put("/tenants/settings", { deviceSessionLifetime: null });
    await visit.leave();
  });

  test.each([
    ["light", 1440],
    ["dark", 1024],
    ["light", 390],
    ["dark", 390],
  ] as const)("sees the page in the %s theme at %i pixels without overflow", async (theme, width) => {
    const person = await newPerson(`${theme}.${width}@example.com`);
    await enrol(
      person.id,
      `Laptop with a long name ${width}`,
      theme === "light" ? (width === 390 ? "D" : "E") : width === 390 ? "F" : "G",
    );
    await resource(`Wiki ${theme} ${width}`, `wiki-${theme}-${width}.internal`, { users: [person.id] });
    await resource(`Lab ${theme} ${width}`, `lab-${theme}-${width}.internal`, {
      allDevices: true,
      sourceIps: ["192.0.2.1"],
    });
    const visit = await visitAs(person, { theme, width });
    const { page } = visit;
    await visit.open("/my");
    await button(visit, `Why? Lab ${theme} ${width}`).click();
    await page.getByText("Available only from these networks").waitFor();
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture(page, `my-${theme}-${width}`);
    await visit.leave();
  });
});
