/** The first run: from an empty tenant to a question that is answered "allowed", on one page. */
import { afterAll, describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture, type Visit } from "./console-world.ts";
import { type DeployedGateway, deployGateway } from "./deployed-gateway.ts";
import { button, effectOf, heading, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const authenticator = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

const widths = [1440, 1024, 390] as const;

/** Looks at the page at each width: nothing is wider than the window. */
async function fitsEveryWidth({ page }: Visit, name: string): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const excess = () => page.evaluate("document.documentElement.scrollWidth - innerWidth");
    await expect.poll(excess, { message: `${name} at ${width}` }).toBe(0);
    await picture(page, `first-steps-${name}-${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

describe.runIf(hasBrowser)("an administrator of a new tenant", () => {
  const given = storyWorld();
  const deployed: DeployedGateway[] = [];
  afterAll(async () => {
    for (const gateway of deployed) await gateway.stop();
  });

  /** Opens an enrolment link as the invited person, who registers a passkey. */
  async function accept(link: string): Promise<void> {
    const visit = await given.world.visit({ publicly: true });
    const debug = await visit.context.newCDPSession(visit.page);
    await debug.send("WebAuthn.enable");
    await debug.send("WebAuthn.addVirtualAuthenticator", { options: authenticator });
    const { pathname, hash } = new URL(link);
    await visit.open(`${pathname.replace("/console", "")}${hash}`);
    await button(visit, "Register passkey").click();
    await visit.page.getByRole("button", { name: "Account" }).waitFor();
    await visit.leave();
  }

  test("gets from the first start to “allowed” on the overview, and sees the path", async () => {
    const tenant = await given.world.server.newTenant();
    const visit = await given.world.visit({ key: tenant.key });
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    const steps = region(visit, "First steps");
    const progress = (done: number) => steps.getByText(`${done} of 5 done`, { exact: true }).waitFor();
    const inStep = (name: string) => steps.getByRole("region", { name, exact: true });
    await progress(0);
    await page.evaluate("globalThis.isSamePage = true");

    // The first step is done by keyboard.
    await steps.getByRole("button", { name: "Deploy a gateway" }).focus();
    await page.keyboard.press("Enter");
    await steps.getByRole("textbox", { name: "Name" }).waitFor();
    await page.keyboard.type("gateway-1");
    await page.keyboard.press("Enter");
    await inStep("Deploy a gateway").getByText("Waiting for the gateway to connect").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await fitsEveryWidth(visit, "gateway");
    await page.getByRole("tab", { name: "From source" }).click();
    await button(visit, "Copy with token").click();
    deployed.push(await deployGateway(await page.evaluate("navigator.clipboard.readText()")));
    await progress(1);

    const address = inStep("Create a resource").getByRole("textbox", { name: "Address" });
    await address.fill("https://wiki.internal");
    await inStep("Create a resource").getByText("wiki.internal, HTTPS (TCP 443)").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await fitsEveryWidth(visit, "resource");
    await button(visit, "Review").click();
    await effectOf(visit).waitFor();
    const widthOf = async (selector: string) => (await steps.locator(selector).boundingBox())?.width;
    expect(await widthOf(".form-actions")).toBe(await widthOf(".effect-review"));
    await button(visit, "Publish").click();
    await progress(2);

    const people = inStep("Add users and a device");
    await people.getByRole("button", { name: "Invite users" }).click();
    await people.getByRole("textbox", { name: "Email addresses" }).fill("ann@example.com");
    await button(visit, "Review").click();
    await people.getByRole("button", { name: "Invite", exact: true }).click();
    await button(visit, "Not now").click();
    await people.getByRole("combobox", { name: "User" }).click();
    await page.getByRole("option", { name: "ann@example.com" }).click();
    await button(visit, "Create invitation link").click();
    const link = (await people.getByLabel("Invitation link", { exact: true }).textContent()) ?? "";
    expect(await accessibilityProblems(page)).toEqual([]);
    await fitsEveryWidth(visit, "device");
    await accept(link);
    const { body: users } = await tenant.client.must.get("/tenants/users?filter[email]=ann%40example.com");
    await tenant.client.must.post("/tenants/devices", {
      name: "Laptop",
      userId: users.data[0].id,
      hardwareId: "hardware-1",
      publicKey: `${"B".repeat(42)}A=`,
    });
    await progress(3);

    const policy = inStep("Create a policy");
    await policy.getByRole("switch", { name: "All users" }).check();
    expect(await accessibilityProblems(page)).toEqual([]);
    await fitsEveryWidth(visit, "policy");
    await button(visit, "Review").click();
    await effectOf(visit).waitFor();
    await policy.getByRole("button", { name: "Create policy" }).click();
    await progress(5);

    const last = inStep("Check access");
    await last.getByText("Allowed", { exact: true }).first().waitFor();
    const path = last.getByRole("region", { name: "Path", exact: true });
    for (const name of ["Access to Wiki", "gateway-1"]) await path.getByText(name).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await fitsEveryWidth(visit, "reached");
    // Nothing of this left the page.
    expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
    await steps.getByRole("button", { name: "Close" }).click();
    await steps.waitFor({ state: "detached" });
    await visit.leave();
  });
});
