/** Identity providers: an owner connects one, people sign in with it, and it fails. */
import { providerPresets } from "@gatehouse/contract/records/provider-presets";
import { HostileProvider } from "@gatehouse/server/testing/hostile-provider";
import { ownerOf, signInAs } from "@gatehouse/server/testing/signed-in-person";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessibilityProblems, documentPicture, hasBrowser, type Visit } from "./console-world.ts";
import { button, heading, inDialog, offersNothing, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const guidePictureBytes = 100_000;
const guideIssuer = "https://login.example.com/realms/main";

describe.runIf(hasBrowser)("an identity provider", () => {
  const given = storyWorld();
  let op: HostileProvider;
  let tenant: { readonly id: string; readonly slug: string };
  beforeAll(async () => {
    op = await HostileProvider.start();
    const { body } = await given.world.server.operator.must.get("/operator/tenants?sort=createdAt");
    tenant = body.data[0];
  });
  afterAll(() => op?.close());

  async function openForm(visit: Visit, preset: string): Promise<void> {
    await visit.open("/identity-providers?new=1");
    await inDialog(visit, preset).click();
    await visit.page.getByRole("dialog").getByLabel("Client ID").waitFor();
  }

  async function guidePicture(visit: Visit, name: string, part = visit.page.getByRole("dialog")): Promise<void> {
    await visit.page.mouse.move(0, 0);
    await visit.page.evaluate("document.fonts.ready.then(() => undefined)");
    await documentPicture(part, `provider-${name}`, guidePictureBytes);
  }

  test.each(Object.entries(providerPresets))("the preset %s fills in the form of the guide", async (name, preset) => {
    const visit = await given.visit();
    const { page } = visit;
    await openForm(visit, preset.title);
    const form = page.getByRole("dialog");
    expect(await form.getByLabel("Issuer").inputValue()).toBe(preset.issuer);
    expect(await form.getByLabel("Groups claim").inputValue()).toBe(preset.groupsClaim);
    for (const scope of preset.scopes) await form.getByText(scope, { exact: true }).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await guidePicture(visit, name);
    await visit.leave();
  });

  test("is connected by an owner: form, test in another tab, enable; and an invited person signs in", async () => {
    const visit = await given.visit();
    const { page, context } = visit;
    await openForm(visit, "Another provider");
    await page.getByRole("dialog").getByLabel("Name").fill("Login");
    await page.getByRole("dialog").getByLabel("Issuer").fill(op.issuer);
    await page.getByRole("dialog").getByLabel("Client ID").fill(op.clientId);
    await page.getByRole("dialog").getByLabel("Client secret").fill(op.clientSecret);
    await page.getByRole("dialog").getByRole("combobox", { name: "Who may sign in for the first time" }).click();
    await page.getByRole("option", { name: "Invited people", exact: true }).click();
    await inDialog(visit, "Add").click();
    await heading(visit, "Login").waitFor();
    await page.getByText("Not tested").waitFor();
    // An untested provider cannot be enabled.
    expect(await button(visit, "Enable").count()).toBe(0);
    await button(visit, "Test sign-in").click();
    const opened = context.waitForEvent("page");
    await page.getByRole("link", { name: "Open the test in a new tab" }).click();
    const tab = await opened;
    await tab.getByRole("heading", { name: /succeeded/ }).waitFor();
    await tab.close();
    await page.getByText("The test sign-in succeeded.", { exact: false }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await button(visit, "Enable").click();
    await page.getByText("Enabled", { exact: true }).waitFor();
    await context.close();

    await given.client.must.post("/tenants/users", { email: "ada@example.com" });
    const person = await given.world.visit({ publicly: true });
    await person.open("/");
    await person.page.getByLabel("Organisation").fill(tenant.slug);
    await guidePicture(person, "sign-in", person.page.locator(".entrance-panel"));
    await button(person, "Sign in with your organisation").click();
    // A person without roles starts on `/my/`.
    await heading(person, "My access and devices").waitFor();
    expect(await person.page.getByRole("navigation").count()).toBe(0);
    await person.context.close();
  });

  test("that is lost: sign-in says so, sessions continue, and the owner signs in with the recovery code", async () => {
    const owner = await ownerOf(given);
    const { cookie = "" } = await signInAs(given.world.server, tenant.id, owner.id);
    const signedIn = await given.world.visit({ publicly: true });
    const [name = "", value = ""] = cookie.split("=");
    await signedIn.context.addCookies([
      { name, value, domain: "localhost", path: "/", httpOnly: true, sameSite: "Strict" },
    ]);
    await signedIn.open("/my/");
    await button(signedIn, "Create recovery code").click();
    const code = await signedIn.page.getByText(/^([0-9A-Z]{4}-){7}[0-9A-Z]{4}$/).textContent();
    await signedIn.page.getByRole("dialog").getByRole("button").last().click();

    op.deviations = { answer: (_path, response) => response.writeHead(503).end() !== undefined };
    const person = await given.world.visit({ publicly: true });
    await person.open("/");
    await person.page.getByLabel("Organisation").fill(tenant.slug);
    await button(person, "Sign in with your organisation").click();
    await person.page
      .getByText(/does not answer|failed/)
      .first()
      .waitFor();
    await person.open("/");
    await person.page.getByText("Use a recovery code").click();
    await person.page.getByLabel("Recovery code").fill(code ?? "");
    await button(person, "Use a recovery code").click();
    await person.page.getByText("Save your next recovery code").waitFor();
    await button(person, "Continue").click();
    await heading(person, "Overview").waitFor();
    await person.context.close();

    await signedIn.open("/groups");
    await heading(signedIn, "Groups").waitFor();
    await signedIn.leave();
    op.deviations = {};
  });

  test("shows an auditor its addresses, and nothing that changes it", async () => {
    const body = { name: "Example login", issuer: guideIssuer, clientId: "gatehouse", clientSecret: "a-secret" };
    const { id } = (await given.client.must.post("/tenants/identity-providers", body)).body;
    const visit = await given.visitAsAuditor();
    await visit.open(`/identity-providers/${id}`);
    await visit.page.getByText("Back-channel logout URI").waitFor();
    await offersNothing(visit, "identity-providers");
    await visit.leave();
    const owner = await given.visit({ width: 1000 });
    await owner.open(`/identity-providers/${id}`);
    await owner.page.getByText("Back-channel logout URI").waitFor();
    await guidePicture(owner, "addresses", region(owner, "About"));
    await owner.leave();
  });
});
