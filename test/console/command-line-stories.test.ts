/** A person approves command lines and a device, with the real command. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HostileProvider } from "@gatehouse/server/testing/hostile-provider";
import { ProviderWorld } from "@gatehouse/server/testing/provider-world";
import { ownerOf, signInAs } from "@gatehouse/server/testing/signed-in-person";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { GatehouseProcess } from "../../packages/cli/src/testing/gatehouse-process.ts";
import { waitLimitMs } from "../wait-limit.ts";
import { accessibilityProblemsInBothThemes, hasBrowser, type Visit } from "./console-world.ts";
import { button, heading, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("a person approves", () => {
  const given = storyWorld();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
    vi.stubEnv("XDG_CONFIG_HOME", folder);
    vi.stubEnv("BROWSER", "true");
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });

  /** Opens a browser in which the owner is signed in. */
  async function visitAsOwner(): Promise<Visit> {
    const { server } = given.world;
    const owner = await ownerOf(given);
    const { body: tenants } = await server.operator.must.get("/operator/tenants?sort=createdAt");
    const { cookie = "" } = await signInAs(server, tenants.data[0].id, owner.id);
    const visit = await given.world.visit({ publicly: true });
    const [name = "", value = ""] = cookie.split("=");
    await visit.context.addCookies([
      { name, value, domain: "localhost", path: "/", httpOnly: true, sameSite: "Strict" },
    ]);
    return visit;
  }

  const shown = (command: GatehouseProcess, pattern: RegExp): Promise<string> =>
    vi.waitFor(
      () => {
        const found = pattern.exec(command.log)?.[1];
        if (found === undefined) throw new Error(`not shown: ${command.log}`);
        return found;
      },
      { timeout: waitLimitMs },
    );

  test("a command line on the same machine, and returns to it", async () => {
    const command = new GatehouseProcess(["login", "--url", given.world.url]);
    const address = await shown(command, /^ {2}(http\S+)$/m);
    const visit = await visitAsOwner();
    await visit.page.goto(address);
    await heading(visit, "Approve a sign-in").waitFor();
    await visit.page.getByText("asks to sign in.").waitFor();
    expect(await accessibilityProblemsInBothThemes(visit.page)).toEqual([]);
    await button(visit, "Approve").click();
    await heading(visit, "Signed in").waitFor();
    expect(await command.exited(), command.log).toBe(0);
    expect(command.output).toContain("Signed in at ");
    await visit.context.close();
  });

  test("a command line after a sign-in at an identity provider, which returns to the approval", async () => {
    const hostile = await HostileProvider.start();
    const provider = new ProviderWorld(given.world.server, given, hostile);
    await provider.invite("ada@example.com");
    const { id } = await provider.enabledProvider({ firstSignIn: "INVITED" });
    const { body: tenants } = await given.world.server.operator.must.get("/operator/tenants?sort=createdAt");
    const command = new GatehouseProcess(["login", "--url", given.world.url]);
    const address = await shown(command, /^ {2}(http\S+)$/m);
    const visit = await given.world.visit({ publicly: true });
    await visit.page.goto(address);
    await visit.page.getByLabel("Organisation").fill(tenants.data[0].slug);
    await button(visit, "Sign in with your organisation").click();
    await heading(visit, "Approve a sign-in").waitFor();
    await visit.page.getByText("ada@example.com").waitFor();
    await button(visit, "Approve").click();
    await heading(visit, "Signed in").waitFor();
    expect(await command.exited(), command.log).toBe(0);
    await visit.context.close();
    await given.client.must.delete(`/tenants/identity-providers/${id}`);
    await hostile.close();
  });

  test("no request with another redirect address", async () => {
    const command = new GatehouseProcess(["login", "--url", given.world.url]);
    const address = new URL(await shown(command, /^ {2}(http\S+)$/m));
    address.searchParams.set("redirect_uri", "http://127.0.0.1.example.net:9/callback");
    const visit = await visitAsOwner();
    visit.expectFailures(400);
    await visit.page.goto(address.href);
    await visit.page.getByText("The request of the program is not valid: redirect_uri.").waitFor();
    expect(await button(visit, "Approve").count()).toBe(0);
    await visit.leave();
    command.kill("SIGKILL");
    await command.exited();
  });

  test("a device by its code, after comparing the fingerprint of its key", async () => {
    // A repeated attempt enrols another device.
    const name = `Laptop ${randomUUID()}`;
    const command = new GatehouseProcess([
      ...["device", "enrol", "--url", given.world.url, "--state-folder", join(folder, name)],
      ...["--name", name, "--hardware-id", name],
    ]);
    const fingerprint = await shown(command, /Key fingerprint {2}(\S+)/);
    const code = await shown(command, /The code is (\S+)\./);
    const visit = await visitAsOwner();
    visit.expectFailures(404);
    await visit.open("/code");
    await visit.page.getByLabel("Code").fill("BBBB-BBBB");
    await button(visit, "Continue").click();
    await visit.page.getByText("The code is unknown, was answered, or has expired.").waitFor();
    await visit.page.getByLabel("Code").fill(code.toLowerCase());
    expect(await accessibilityProblemsInBothThemes(visit.page)).toEqual([]);
    await button(visit, "Continue").click();
    await visit.page.getByText(`The machine “${name}” asks to become your device.`).waitFor();
    await visit.page.getByText(fingerprint).waitFor();
    await visit.page.getByText("The request came from 127.0.0.1").waitFor();
    expect(await accessibilityProblemsInBothThemes(visit.page)).toEqual([]);
    await button(visit, "Approve").click();
    await heading(visit, "Approved").waitFor();
    expect(await command.exited(), command.log).toBe(0);
    expect(command.output).toContain(`Enrolled as ${name}`);
    const { body } = await given.client.must.get(`/tenants/devices?filter[name]=${encodeURIComponent(name)}`);
    expect(body.data).toMatchObject([{ active: true, user: { id: (await ownerOf(given)).id } }]);
    await visit.leave();
  });
});
