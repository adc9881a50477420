/** People enrol, and sign in with passkeys. */
import { randomBytes } from "node:crypto";
import { enrolmentLinkFor } from "@gatehouse/server/testing/browser-page";
import { freePort } from "@gatehouse/server/testing/pebble";
import { activeUser, ownerOf, signInAs } from "@gatehouse/server/testing/signed-in-person";
import { createEmptyDatabase, databaseUrl } from "@gatehouse/server/testing/test-database";
import { describe, expect, test } from "vitest";
import { GatehouseProcess } from "../../packages/cli/src/testing/gatehouse-process.ts";
import { accessibilityProblems, hasBrowser, signIn, type Visit } from "./console-world.ts";
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

describe.runIf(hasBrowser)("the owner of a new installation", () => {
  const given = storyWorld();

  test("opens the link that the first start prints, registers a passkey, and signs in with it", async () => {
    const [port, database] = [await freePort(), await createEmptyDatabase()];
    const server = new GatehouseProcess([
      ...["serve", "--port", String(port)],
      ...["--database-url", databaseUrl(database), "--master-key", randomBytes(32).toString("base64")],
    ]);
    try {
      await server.serving();
      const url = `http://localhost:${port}`;
      const link = /http:\/\/localhost:\d+\/console\/enrol#\S+/.exec(server.output)?.[0] ?? "";
      expect(link).toContain(`${url}/console/enrol#`);
      expect(server.output).toMatch(/Recovery code \S+ \(signs owner@example\.com in once\)/);
      const visit = await given.world.visit({ url });
      await addAuthenticator(visit);
      const { hash } = new URL(link);
      await visit.open(`/enrol${hash}`);
      await button(visit, "Register passkey").click();
      await heading(visit, "Overview").waitFor();
      await signOut(visit);
      await signInWithPasskey(visit);
      await heading(visit, "Overview").waitFor();
      expect(await accessibilityProblems(visit.page)).toEqual([]);
      await visit.leave();
    } finally {
      server.kill("SIGTERM");
      await server.exited();
      await database.drop();
    }
  });
});

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
    const link = await page.getByRole("dialog").getByLabel("Invitation link", { exact: true }).textContent();
    expect(await accessibilityProblems(page)).toEqual([]);
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

  test("without roles registers a passkey, signs in, and finds only their page", async () => {
    const email = "newcomer@example.com";
    const visit = await enrol(await inviteInConsole(email));
    await signOut(visit);
    await signInWithPasskey(visit);
    const { page } = visit;
    await heading(visit, "My access and devices").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
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

  test("who opens an IP address learns where passkeys work, and what works there", async () => {
    const visit = await given.world.visit();
    const { page } = visit;
    await visit.open("/");
    await page.getByText("Passkeys do not work at this URL.").waitFor();
    const publicUrl = given.world.url.replace("127.0.0.1", "localhost");
    await page.getByRole("link", { name: publicUrl }).waitFor();
    expect(await page.getByRole("button", { name: "Sign in with passkey" }).count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await signIn(page, given.owner);
    await visit.leave();
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
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Register passkey" }).click();
    await heading(visit, "Overview").waitFor();

    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in with passkey" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Sign in with passkey" }).click();
    await heading(visit, "Overview").waitFor();

    /** Gives the browser a session in which the owner authenticated twenty minutes ago. */
    const age = async () => {
      const { cookie = "" } = await signInAs(server, tenantId, owner.id, {
        authTime: new Date(Date.now() - 20 * minuteMs),
      });
      const [name = "", value = ""] = cookie.split("=");
      await context.addCookies([{ name, value, domain: "localhost", path: "/", httpOnly: true, sameSite: "Strict" }]);
    };
    await age();
    visit.expectFailures(401);
    await visit.open("/api-keys?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Nightly export");
    await button(visit, /^Auditor/).click();
    await inDialog(visit, "Create").click();
    await page.getByRole("heading", { name: "Confirm your identity" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Confirm with passkey" }).click();
    // The request was repeated with the input of the form.
    await page.getByRole("dialog", { name: "API key “Nightly export”" }).waitFor();
    await button(visit, "I have saved it").click();
    await heading(visit, "Nightly export").waitFor();

    await age();
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "My access and devices" }).click();
    await heading(visit, "My access and devices").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Create recovery code" }).click();
    await page.getByRole("button", { name: "Confirm with passkey" }).click();
    await page.getByText(/^([0-9A-Z]{4}-){7}[0-9A-Z]{4}$/).waitFor();
    await button(visit, "I have saved it").click();

    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("button", { name: "Sign in with passkey" }).waitFor();
    await visit.leave();
  });

  test("the page after a sign-in at a provider asks a person without a session to sign in", async () => {
    const visit = await given.world.visit();
    visit.expectFailures(401);
    await visit.open("/signed-in");
    await heading(visit, "Sign in to Gatehouse").waitFor();
    expect(await accessibilityProblems(visit.page)).toEqual([]);
    await visit.page.getByRole("button", { name: "Use an API key" }).click();
    await visit.page.locator("input[type=password]").fill(given.owner);
    await button(visit, "Sign in").click();
    await heading(visit, "You are signed in").waitFor();
    await visit.page.getByRole("link", { name: "Open the console here" }).click();
    await heading(visit, "Overview").waitFor();
    await visit.leave();
  });
});
