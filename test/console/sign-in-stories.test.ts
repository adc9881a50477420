/** The owner signs in with a passkey. */
import { enrolmentLinkFor } from "@gatehouse/server/testing/browser-page";
import { ownerOf, signInAs } from "@gatehouse/server/testing/signed-in-person";
import { describe, expect, test } from "vitest";
import { hasBrowser, seriousProblems } from "./console-world.ts";
import { heading, storyWorld, warnIfSkipped } from "./story-world.ts";

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
