/**
 * Screenshots of every page for reviewers, at three widths and in both themes. A file is `NAME-WIDTH-THEME.png`, and a
 * README lists the names. Screenshots are taken only on request:
 *
 *     GATEHOUSE_SCREENSHOTS=/tmp/shots npx vitest run --project browser test/console/screenshots.test.ts
 */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { activate, givePasskey, signInAs } from "@gatehouse/server/testing/signed-in-person";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addRecords, pages } from "./console-pages.ts";
import { type ConsoleWorld, hasBrowser, openConsoleWorld, type Visit } from "./console-world.ts";
import type { DeployedGateway } from "./deployed-gateway.ts";
import { enrolBySignIn } from "./enrol-device.ts";
import { putInUse } from "./network-in-use.ts";
import { button, chooseAction, heading, inDialog, region } from "./story-world.ts";

const folder = process.env.GATEHOUSE_SCREENSHOTS;
const widths = [1440, 1024, 390] as const;
const themes = ["light", "dark"] as const;
const intro = `Screenshots of the console: NAME-WIDTH-THEME.png, at ${widths.join(", ")} px, light and dark. NAME is one of:`;
/** Longer pages are cut, so that a picture can still be read. */
const maxHeight = 3_000;
const windowHeight = 900;

describe.runIf(hasBrowser && folder !== undefined)("screenshots", () => {
  let world: ConsoleWorld;
  let owner: string;
  let emptyKey: string;
  let engineer: string;
  let tenantId: string;
  let connected: readonly DeployedGateway[] = [];
  beforeAll(async () => {
    world = await openConsoleWorld();
    const { client, server } = world;
    owner = await world.keyOf("OWNER");
    emptyKey = (await server.newTenant()).key;
    tenantId = (await server.operator.must.get("/operator/tenants?sort=createdAt")).body.data[0].id;
    connected = await putInUse(world);
    await addRecords(world);
    engineer = await idOf("users", "engineer-01@example.com", "email");
    for (const name of ["Terraform", "Prometheus", "Directory synchronization"]) {
      await client.must.post("/tenants/api-keys", {
        name,
        permissions: ["users:read", "groups:read", "gateways:read"],
      });
    }
    for (const host of ["alerts", "tickets"]) {
      await client.must.post("/tenants/webhooks", {
        url: `https://${host}.example.com/gatehouse`,
        events: ["policy.*", "gateway.*"],
        active: false,
      });
    }
    let letter = 0;
    const enrol = async (userId: string, machine: string) => {
      letter += 1;
      await activate(world.server, tenantId, userId);
      // Recorded, so that previews of access learn that the user is active.
      await client.must.patch(`/tenants/users/${userId}`, { maxDevices: 5 });
      const publicKey = `${String.fromCharCode(102 + letter).repeat(42)}A=`;
      await enrolBySignIn(world, { tenantId, userId, machine, publicKey });
    };
    for (const [email, machine] of [
      ["seller-02@example.com", "seller-02-tablet"],
      ["agent-03@example.com", "agent-03-desktop"],
      ["recruiter-01@example.com", "recruiter-01-tablet"],
    ] as const) {
      await enrol(await idOf("users", email, "email"), machine);
    }
    await client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    await enrol(await idOf("users", "seller-04@example.com", "email"), "seller-04-tablet");
    await enrol(await idOf("users", "agent-05@example.com", "email"), "agent-05-desktop");
    await client.must.put("/tenants/settings", { deviceApproval: "automatic" });
    await client.must.patch(`/tenants/policies/${await idOf("policies", "Office systems")}`, {
      groups: [await idOf("groups", "Sales"), await idOf("groups", "Support")],
    });
  });
  afterAll(async () => {
    for (const gateway of connected) await gateway.stop();
    await world?.close();
    if (folder === undefined) return;
    const first = `-${widths[0]}-${themes[0]}.png`;
    const names = (await readdir(folder)).filter((file) => file.endsWith(first)).map((file) => file.replace(first, ""));
    await writeFile(path.join(folder, "README"), `${intro}\n\n${names.sort().join("\n")}\n`);
  });

  const idOf = async (kind: string, value: string, field = "name"): Promise<string> =>
    (await world.client.must.get(`/tenants/${kind}?filter[${field}]=${encodeURIComponent(value)}`)).body.data[0].id;

  const gatewayId = async (name: string): Promise<string> => {
    const all: readonly { readonly id: string; readonly name: string }[] = (
      await world.client.must.get("/tenants/gateways")
    ).body;
    return all.find((gateway) => gateway.name === name)?.id ?? expect.fail(`there is no gateway ${name}`);
  };

  const settle = async ({ page }: Visit) => {
    await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
    await page.evaluate(
      "document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))",
    );
  };

  /** @param isOverlay pictures of dialogs show the window, and not the page behind them */
  const shoot = async (visit: Visit, name: string, isOverlay = false) => {
    if (folder === undefined) return;
    await mkdir(folder, { recursive: true });
    const { page } = visit;
    await page.mouse.move(0, 0);
    for (const width of widths) {
      await page.setViewportSize({ width, height: windowHeight });
      await settle(visit);
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        await settle(visit);
        if (!isOverlay) {
          const height = await page.evaluate<number>("document.documentElement.scrollHeight");
          await page.setViewportSize({ width, height: Math.min(Math.max(height, windowHeight), maxHeight) });
          await settle(visit);
        }
        await page.screenshot({ path: path.join(folder, `${name}-${width}-${theme}.png`) });
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: widths[0], height: windowHeight });
  };
  /** Shows a part of the console in its own visit, whose problems are not this file's. */
  const show = async (at: string, act: (visit: Visit) => Promise<void>, key = owner) => {
    const visit = await world.visit({ key, width: 1440 });
    await visit.load(at);
    await visit.page.locator("h1, [role=alert]").first().waitFor();
    await settle(visit);
    await act(visit);
    // Unsaved input must not block the next visit.
    await visit.page.goto("about:blank").catch(() => undefined);
    await visit.context.close();
  };

  test("before sign-in", async () => {
    const visit = await world.visit({ width: 1440 });
    await visit.load("/");
    await heading(visit, "Sign in to Gatehouse").waitFor();
    await shoot(visit, "sign-in");
    await button(visit, "Use an API key").click();
    await shoot(visit, "sign-in-key");
    await visit.leave();
  });

  test.each(pages)("$path", async ({ path: at, title, creates }) => {
    await show(`/${at}`, async (visit) => {
      await heading(visit, title).waitFor();
      await settle(visit);
      await shoot(visit, at);
      if (creates !== true) return;
      await visit.open(`/${at}?new=1`);
      await visit.page.getByRole("dialog").waitFor();
      await shoot(visit, `${at}-new`, true);
    });
  });

  test.each([
    ["users", "engineer-01@example.com", "email", true],
    ["groups", "Engineering", "name", true],
    ["devices", "engineer-01-laptop", "name", true],
    ["gateways", "Frankfurt 1", "name", true],
    ["resources", "Source code", "name", true],
    ["addresses", "git.corp.example.com", "address", false],
    ["protocols", "Telephony", "name", false],
    ["policies", "Engineering tools", "name", false],
    ["admission-rules", "Compliant device", "name", false],
    ["access-tests", "Sales never reach Payroll", "name", false],
    ["roles", "ADMIN", "type", false],
    ["api-keys", "Terraform", "name", false],
    ["identity-providers", "Login", "name", false],
    ["enrolment-keys", "Servers", "name", false],
    ["webhooks", "alerts.example.com", "name", false],
  ] as const)("one of %s", async (kind, value, field, hasAccess) => {
    const { body } = await world.client.must.get(`/tenants/${kind}?limit=1000`);
    const records: readonly Readonly<Record<string, string>>[] = body.data ?? body;
    const id = records.find((record) => record[field] === value)?.id;
    expect(id, value).toBeDefined();
    await show(`/${kind}/${id}`, async (visit) => {
      await shoot(visit, `${kind}-one`);
      if (await button(visit, "Edit").isVisible()) {
        await button(visit, "Edit").click();
        await visit.page.getByRole("dialog").waitFor();
        await shoot(visit, `${kind}-edit`, true);
      }
    });
    if (hasAccess) await show(`/${kind}/${id}?tab=access`, (visit) => shoot(visit, `${kind}-access`));
  });

  test("the overview of a new tenant, and empty lists", async () => {
    await show(
      "/overview",
      async (visit) => {
        await shoot(visit, "overview-first-steps");
        for (const [step, name] of [
          ["gateway", "Deploy a gateway"],
          ["device", "Add users and a device"],
          ["policy", "Create a policy"],
        ] as const) {
          await button(visit, name).click();
          await shoot(visit, `overview-first-steps-${step}`);
        }
      },
      emptyKey,
    );
    await show("/resources", (visit) => shoot(visit, "resources-empty"), emptyKey);
    await show("/policies", (visit) => shoot(visit, "policies-empty"), emptyKey);
  });

  test("publishing", async () => {
    await show("/publish", async (visit) => {
      const { page } = visit;
      await page.getByRole("textbox", { name: "Address" }).fill("handbook.internal:443");
      await page.getByRole("combobox", { name: "Gateway" }).click();
      await page.getByRole("option", { name: "Frankfurt 1" }).click();
      await page.getByRole("combobox", { name: "Groups" }).click();
      await page.getByRole("option", { name: "Engineering", exact: true }).click();
      await page.keyboard.press("Escape");
      await page.getByRole("checkbox", { name: "The device’s disk is encrypted" }).check();
      await page.getByRole("checkbox", { name: /^Only Monday to Friday/ }).check();
      await shoot(visit, "publish-filled");
      await button(visit, "Review").click();
      await region(visit, "Effect of this change").getByText(/gain/).first().waitFor();
      await shoot(visit, "publish-effect");
    });
  });

  test("access", async () => {
    const [device, people, code, sales] = [
      await idOf("devices", "engineer-01-laptop"),
      await idOf("resources", "Personnel files"),
      await idOf("resources", "Source code"),
      await idOf("groups", "Sales"),
    ];
    for (const [name, search] of [
      ["access-denied", `user=${engineer}&device=${device}&resource=${people}`],
      ["access-allowed", `user=${engineer}&device=${device}&resource=${code}`],
      ["access-past", `user=${engineer}&device=${device}&resource=${code}&at=${new Date().toISOString()}`],
      ["access-who", `view=who&resource=${code}`],
      ["access-what", `view=what&user=${engineer}`],
      ["access-graph", `view=graph`],
      ["access-graph-focus", `view=graph&focus=group:${sales}`],
    ] as const) {
      await show(`/access?${search}`, (visit) => shoot(visit, name));
    }
  });

  test("the effect of a changed policy", async () => {
    await show(`/policies/${await idOf("policies", "Books in office hours")}`, async (visit) => {
      await button(visit, "Edit").click();
      await visit.page.getByRole("combobox", { name: "Groups", exact: true }).fill("Support");
      await visit.page.getByRole("option", { name: "Support", exact: true }).click();
      await visit.page.keyboard.press("Tab");
      await inDialog(visit, "Review").click();
      await region(visit, "Effect of this change").getByRole("cell").first().waitFor();
      await shoot(visit, "policies-effect", true);
    });
  });

  test("events and their reversal", async () => {
    await show("/events", async (visit) => {
      await visit.page.locator("tbody a").first().click();
      await region(visit, "Effect on access").waitFor();
      await shoot(visit, "events-one");
    });
  });

  test("selected rows, list options, the side panel, the palette and the account", async () => {
    await show("/users", async (visit) => {
      const { page } = visit;
      await page.locator("tbody a").first().focus();
      await page.keyboard.press("Space");
      await page.getByRole("dialog").waitFor();
      await shoot(visit, "users-side-panel", true);
      await page.keyboard.press("Escape");
      const boxes = page.getByRole("checkbox", { name: /^Select / });
      for (const row of [1, 2, 3]) await boxes.nth(row).check();
      await shoot(visit, "users-selected");
      await button(visit, "Deactivate").click();
      await page.getByRole("dialog").waitFor();
      await shoot(visit, "users-selected-deactivate", true);
      await page.keyboard.press("Escape");
    });
    await show("/users", async (visit) => {
      const { page } = visit;
      await button(visit, "List options").click();
      await shoot(visit, "users-list-options", true);
      await page.keyboard.press("Escape");
      await page.keyboard.press("ControlOrMeta+K");
      await page.getByPlaceholder(/^Search pages/).fill("engineer-01");
      await page.getByRole("dialog").getByText("engineer-01-phone").waitFor();
      await shoot(visit, "palette", true);
      await page.keyboard.press("Escape");
      await button(visit, "Account").click();
      await shoot(visit, "account-menu", true);
    });
  });

  test("deletions, and a record that does not exist", async () => {
    await show(`/resources/${await idOf("resources", "Wiki")}`, async (visit) => {
      await chooseAction(visit, "Delete");
      await visit.page.getByRole("dialog").waitFor();
      await shoot(visit, "resources-delete-in-use", true);
    });
    await show(`/users/${engineer}`, async (visit) => {
      await chooseAction(visit, "Delete");
      await visit.page.getByRole("dialog").waitFor();
      await shoot(visit, "users-delete", true);
    });
    await show("/users/01890000-0000-7000-8000-000000000000", (visit) => shoot(visit, "not-found"));
  });

  test("the last report of a gateway, a new gateway, and a key that is shown once", async () => {
    await show("/gateways", async (visit) => {
      await visit.page.getByRole("link", { name: "Frankfurt 1" }).click();
      await button(visit, "Show last report").click();
      await region(visit, "Configuration").getByText("Last report", { exact: true }).waitFor();
      await shoot(visit, "gateways-report");
    });
    await show("/gateways?new=1", async (visit) => {
      await visit.page.getByRole("textbox", { name: "Name" }).fill("Bergen");
      await button(visit, "Create").click();
      await heading(visit, "Bergen").waitFor();
      await shoot(visit, "gateways-deploy");
    });
    await show("/api-keys?new=1", async (visit) => {
      await visit.page.getByRole("textbox", { name: /^Name/ }).fill("Backups");
      await button(visit, /^Auditor/)
        .first()
        .click();
      await inDialog(visit, "Create").click();
      await inDialog(visit, /saved/i).waitFor();
      await shoot(visit, "api-keys-secret", true);
    });
  });

  test("the review of an invitation, the posture of an access test, and a rotated token", async () => {
    await show("/users?new=1", async (visit) => {
      const { page } = visit;
      await page.getByRole("textbox", { name: /^Email addresses/ }).fill("Dora Example <dora@example.com>");
      await page.getByRole("combobox", { name: "Groups" }).fill("Engineering");
      await page.getByRole("option", { name: "Engineering", exact: true }).click();
      await page.getByRole("combobox", { name: "Roles" }).fill("Auditor");
      await page.getByRole("option", { name: "Auditor" }).click();
      // Leaves the field, whose list covers the button.
      await page.keyboard.press("Tab");
      await inDialog(visit, "Review").click();
      await page.getByText("When they accept").waitFor();
      await shoot(visit, "users-invite-review", true);
    });
    await show("/access-tests?new=1", async (visit) => {
      await visit.page.getByText("Device with a given posture", { exact: true }).click();
      await visit.page.getByRole("radiogroup", { name: "Jailbroken" }).scrollIntoViewIfNeeded();
      await shoot(visit, "access-tests-posture", true);
    });
    await world.client.must.post(`/tenants/gateways/${await gatewayId("Frankfurt 1")}/rotate-token`);
    await show(`/gateways/${await gatewayId("Frankfurt 1")}`, async (visit) => {
      await visit.page.getByText(/^The token was rotated/).waitFor();
      await shoot(visit, "gateways-rotated");
    });
  });

  test("a guide, and a person's own page", async () => {
    await show("/guides/access", (visit) => shoot(visit, "guides-one"));
    const visit = await world.visit({ width: 1440 });
    await activate(world.server, tenantId, engineer);
    await givePasskey(world.server, tenantId, engineer, "Laptop");
    const { cookie = "" } = await signInAs(world.server, tenantId, engineer);
    const [name = "", value = ""] = cookie.split("=");
    const domain = new URL(world.url).hostname;
    await visit.context.addCookies([{ name, value, domain, path: "/", httpOnly: true, sameSite: "Strict" }]);
    await visit.load("/my");
    await heading(visit, "My access and devices").waitFor();
    await shoot(visit, "my");
    await visit.leave();
  });
});
