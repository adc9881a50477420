/** Every dialog and menu of the console is accessible, in both themes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  picture,
  type Visit,
} from "./console-world.ts";
import { button, isQuiet, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

/** Lists on which `?new=1` opens the dialog that creates a record. */
const creating = [
  "users",
  "groups",
  "devices",
  "enrolment-keys",
  "gateways",
  "resources",
  "addresses",
  "protocols",
  "policies",
  "admission-rules",
  "access-tests",
  "api-keys",
  "identity-providers",
  "domains",
  "webhooks",
] as const;

/** Pages of one record. Their buttons open the dialogs that change it. */
const details = [
  "users",
  "groups",
  "devices",
  "enrolment-keys",
  "gateways",
  "resources",
  "addresses",
  "protocols",
  "policies",
  "admission-rules",
  "access-tests",
  "api-keys",
  "identity-providers",
  "webhooks",
] as const;

/** Buttons that act at once, without a dialog. */
const acting = ["Run"];

const overlays = "[role=dialog]:visible, [role=menu]:visible";

describe.runIf(hasBrowser)("every dialog", () => {
  let world: ConsoleWorld;
  let owner: string;
  /** Ids of records for the pages whose first record is built in, and cannot be changed. */
  const own = new Map<string, string>();
  beforeAll(async () => {
    world = await openConsoleWorld();
    owner = await world.keyOf("OWNER");
    const provider = { name: "Login", issuer: "https://login.example.com", clientId: "gatehouse" };
    await world.client.must.post("/tenants/identity-providers", provider);
    const [{ id: userId }] = (await world.client.must.get("/tenants/users")).body.data;
    await world.client.must.post("/tenants/enrolment-keys", { name: "Servers", userId, tags: ["build"] });
    for (const [path, body] of [
      ["protocols", { networkProtocols: [{ protocol: "TCP", port: "8443" }] }],
      [
        "admission-rules",
        { name: "Encrypted", rule: "device.posture.diskEncrypted == true", hasTimeConstraint: false },
      ],
    ] as const) {
      own.set(path, (await world.client.must.post(`/tenants/${path}`, body)).body.id);
    }
    await world.client.must.post("/tenants/webhooks", { url: "https://hooks.example.com/gatehouse", active: false });
    await world.client.must.post("/tenants/access-tests", {
      name: "Nobody reaches File shares",
      subject: { type: "everyone" },
      resource: { type: "resource", id: "File shares" },
      expected: "denied",
    });
  });
  afterAll(() => world?.close());

  /** Waits for the dialog or menu that was just opened, and returns its problems. */
  const examine = async (visit: Visit, name: string): Promise<readonly string[]> => {
    const { page } = visit;
    await page.locator(overlays).first().waitFor();
    await isQuiet(visit);
    // The page behind is examined by every-page.test.ts.
    const found = await accessibilityProblemsInBothThemes(page, { part: "[role=dialog], [role=menu]" });
    await picture(page, `dialog-${name.replaceAll(/\W+/g, "-")}`);
    return found.map((problem) => `${name}: ${problem}`);
  };
  /** Escape closes an open list of options before its dialog. */
  const close = async ({ page }: Visit) => {
    await expect
      .poll(async () => {
        await page.keyboard.press("Escape");
        return page.locator(overlays).count();
      })
      .toBe(0);
  };

  test("that creates a record has no accessibility problems", async () => {
    const visit = await world.visit({ key: owner });
    const found: string[] = [];
    for (const path of creating) {
      await visit.open(`/${path}?new=1`);
      found.push(...(await examine(visit, `new ${path}`)));
    }
    await visit.leave();
    expect(found).toEqual([]);
  });

  test.each(details)("on the page of one of %s has no accessibility problems", async (path) => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    // The preview of deleting a record that is in use.
    visit.expectFailures(409);
    const id = own.get(path);
    await visit.open(id === undefined ? `/${path}` : `/${path}/${id}`);
    if (id === undefined) await page.locator(`main a[href*="/${path}/"]`).first().click();
    await page.waitForURL(`**/${path}/*`);
    // The list, which has buttons of its own, is shown until the page of the record is loaded.
    await page.locator(`main .mantine-Breadcrumbs-root a[href$="/${path}"]`).waitFor();
    const buttons = page.locator("main .actions button");
    await buttons.last().waitFor();
    await isQuiet(visit);
    const found: string[] = [];
    let opened = 0;
    for (const name of await buttons.allTextContents()) {
      if (acting.includes(name)) continue;
      await button(visit, name).click();
      found.push(...(await examine(visit, `${path} ${name}`)));
      opened += 1;
      const items = page.locator("[role=menuitem]:enabled");
      const itemNames = await items.allTextContents();
      await close(visit);
      for (const item of itemNames) {
        await button(visit, name).click();
        await page.getByRole("menuitem", { name: item, exact: true }).click();
        await page.getByRole("dialog").waitFor();
        await expect.poll(() => page.getByRole("menu").count()).toBe(0);
        found.push(...(await examine(visit, `${path} ${item}`)));
        await close(visit);
      }
    }
    await visit.leave();
    expect(opened).toBeGreaterThan(0);
    expect(found).toEqual([]);
  });

  test("of lists, of the account and of the command palette has no accessibility problems", async () => {
    const visit = await world.visit({ key: owner });
    const { page } = visit;
    await visit.open("/users");
    await page.locator("tbody a").first().waitFor();
    const found: string[] = [];
    for (const name of ["Account", "List options"]) {
      await button(visit, name).click();
      found.push(...(await examine(visit, name)));
      await close(visit);
    }
    await page.locator("tbody a").first().focus();
    await page.keyboard.press("Space");
    found.push(...(await examine(visit, "side panel")));
    await close(visit);
    await page
      .getByRole("checkbox", { name: /^Select / })
      .nth(1)
      .check();
    for (const name of ["Add to group", "Deactivate", "Delete"]) {
      await button(visit, name).click();
      found.push(...(await examine(visit, `selected ${name}`)));
      await close(visit);
    }
    await page.keyboard.press("ControlOrMeta+K");
    await page
      .getByPlaceholder(/Search/)
      .last()
      .waitFor();
    found.push(...(await examine(visit, "palette")));
    await visit.leave();
    expect(found).toEqual([]);
  });
});
