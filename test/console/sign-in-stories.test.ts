/** People enrol, and sign in with passkeys. */
import { enrolmentLinkFor } from "@gatehouse/server/testing/browser-page";
import { activeUser, ownerOf, signInAs } from "@gatehouse/server/testing/signed-in-person";
import { describe, expect, test } from "vitest";
import { hasBrowser, seriousProblems, type Visit } from "./console-world.ts";
import {
  button,
  changesSentBy,
  heading,
  inDialog,
  offersNothing,
  type StoryWorld,
  storyWorld,
  warnIfSkipped,
} from "./story-world.ts";

warnIfSkipped();

/** An authenticator with a verified person who touches it at once. */
const authenticator = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

const minuteMs = 60_000;

/** Gives the page an authenticator with a verified person. */
async function addAuthenticator({ page, context }: Visit): Promise<void> {
  const debug = await context.newCDPSession(page);
  await debug.send("WebAuthn.enable");
  await debug.send("WebAuthn.addVirtualAuthenticator", { options: authenticator });
}

/** Signs in with the passkey of the page. */
async function signInWithPasskey(visit: Visit): Promise<void> {
  await visit.page.getByRole("button", { name: "Sign in with passkey" }).click();
  await visit.page.getByRole("button", { name: "Account" }).waitFor();
}

async function signOut({ page }: Visit): Promise<void> {
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with passkey" }).waitFor();
}

describe.runIf(hasBrowser)("an invited person", () => {
  const given = storyWorld();

  /** The owner invites a person with the console, and reads the link from the dialog. */
  async function inviteInConsole(email: string): Promise<string> {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users?new=1");
    await page.getByLabel("Email addresses").fill(email);
    await inDialog(visit, "Review").click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Invite/ })
      .click();
    await inDialog(visit, "Not now").click();
    const { body } = await given.client.must.get(`/tenants/users?filter[email]=${encodeURIComponent(email)}`);
    await visit.open(`/users/${body.data[0].id}`);
    await button(visit, "Create link").click();
    const link = await page.getByRole("dialog").getByLabel("Link", { exact: true }).textContent();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button").last().click();
    await visit.leave();
    return link ?? "";
  }

  async function enrol(link: string): Promise<Visit> {
    const visit = await given.world.visit({ publicly: true });
    await addAuthenticator(visit);
    const { pathname, hash } = new URL(link);
    await visit.open(`${pathname.replace("/console", "")}${hash}`);
    await button(visit, "Register passkey").click();
    await visit.page.getByRole("button", { name: "Account" }).waitFor();
    return visit;
  }

  test("without roles registers a passkey, signs in, and finds only the own page", async () => {
    const email = "newcomer@example.com";
    const visit = await enrol(await inviteInConsole(email));
    await signOut(visit);
    await signInWithPasskey(visit);
    const { page } = visit;
    await heading(visit, "My access and devices").waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    expect(await page.getByRole("navigation").count()).toBe(0);
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByText(email).first().waitFor();
    const { body } = await given.client.must.get(`/tenants/users?filter[email]=${encodeURIComponent(email)}`);
    expect(body.data).toMatchObject([{ email, status: "active" }]);
    const { body: log } = await given.client.must.get("/tenants/sign-ins?sort=-createdAt&limit=1");
    expect(log.data).toMatchObject([{ method: "passkey", outcome: "succeeded", user: { email } }]);
    await visit.leave();
  });

  test("cannot use the link a second time", async () => {
    const link = await inviteInConsole("once@example.com");
    const first = await enrol(link);
    await first.leave();
    const second = await given.world.visit({ publicly: true });
    await addAuthenticator(second);
    second.expectFailures(401);
    const { pathname, hash } = new URL(link);
    await second.open(`${pathname.replace("/console", "")}${hash}`);
    await second.page.getByRole("alert").waitFor();
    expect(await second.page.getByRole("button", { name: "Register passkey" }).count()).toBe(0);
    await second.leave();
  });

  test("with the role AUDITOR signs in, reads everything, and is offered nothing that changes it", async () => {
    const { id } = await activeUser(given.world.server, await tenantOf(given), "auditor@example.com", ["AUDITOR"]);
    const { body } = await given.client.must.post(`/tenants/users/${id}/enrolment-links`, {});
    const visit = await enrol(body.url);
    const changes = changesSentBy(visit);
    for (const path of ["/users", `/users/${id}`, "/identity-providers", "/sign-ins"]) {
      await visit.open(path);
      await visit.page.getByRole("heading", { level: 1 }).waitFor();
      await offersNothing(visit, path);
    }
    expect(changes).toEqual([]);
    await visit.leave();
  });
});

async function tenantOf({ world, client }: StoryWorld) {
  const { body } = await world.server.operator.must.get("/operator/tenants?sort=createdAt");
  return { id: String(body.data[0].id), client };
}

describe.runIf(hasBrowser)("the owner", () => {
  const given = storyWorld();

  test("registers a passkey, signs in, confirms a dangerous operation, and signs out everywhere", async () => {
    const { server } = given.world;
    const owner = await ownerOf(given);
    const { body: tenants } = await server.operator.must.get("/operator/tenants?sort=createdAt");
    const tenantId: string = tenants.data[0].id;
    const token = await enrolmentLinkFor(server, tenantId, owner);
    const visit = await given.world.visit({ publicly: true });
    const { page, context } = visit;
    const debug = await context.newCDPSession(page);
    await debug.send("WebAuthn.enable");
    await debug.send("WebAuthn.addVirtualAuthenticator", { options: authenticator });

    await visit.open(`/enrol#${token}`);
    await page.getByText(owner.email).waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Register passkey" }).click();
    await heading(visit, "Overview").waitFor();

    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in with passkey" }).waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Sign in with passkey" }).click();
    await heading(visit, "Overview").waitFor();

    // A session in which the owner authenticated twenty minutes ago.
    const { cookie = "" } = await signInAs(server, tenantId, owner.id, {
      authTime: new Date(Date.now() - 20 * minuteMs),
    });
    const [name = "", value = ""] = cookie.split("=");
    await context.addCookies([{ name, value, domain: "localhost", path: "/", httpOnly: true, sameSite: "Strict" }]);
    visit.expectFailures(401);
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "My access and devices" }).click();
    await heading(visit, "My access and devices").waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Create recovery code" }).click();
    await page.getByRole("button", { name: "Confirm with passkey" }).click();
    await page.getByText(/^([0-9A-Z]{4}-){7}[0-9A-Z]{4}$/).waitFor();
    await page.getByRole("dialog").getByRole("button").last().click();

    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("button", { name: "Sign in with passkey" }).waitFor();
    await visit.leave();
  });
});
