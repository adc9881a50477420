/** Layout that only a browser computes: nothing is cut off, covered or broken inside words. */
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { addRecords } from "./console-pages.ts";
import { hasBrowser, picture } from "./console-world.ts";
import {
  button,
  chooseAction,
  effectOf,
  heading,
  inDialog,
  isQuiet,
  region,
  storyWorld,
  warnIfSkipped,
} from "./story-world.ts";

warnIfSkipped();

/** The lists that have records. */
const lists = [
  ...["users", "groups", "devices", "device-sessions", "enrolment-keys", "gateways", "resources", "addresses"],
  ...["protocols", "admission-rules", "access-tests", "roles", "api-keys", "identity-providers", "domains", "webhooks"],
  "events",
];

const boxOf = async (part: Locator) => (await part.boundingBox()) ?? expect.fail("the part is not on the screen");

describe.runIf(hasBrowser)("an administrator", () => {
  const given = storyWorld();

  test("sees the buttons and the notices of a long form at once, wherever it is scrolled", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await page.setViewportSize({ width: 1280, height: 600 });
    await visit.open("/policies?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Unfinished");
    await inDialog(visit, "Cancel").click();
    for (const part of [page.getByRole("alert"), inDialog(visit, "Keep editing"), inDialog(visit, "Review")]) {
      const { y, height } = await boxOf(part);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y + height).toBeLessThanOrEqual(600);
    }
    await inDialog(visit, "Discard").click();
    await visit.leave();
  });

  test("sees whether a form continues below its buttons, wherever its content is cut", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await page.setViewportSize({ width: 1280, height: 600 });
    await visit.open("/policies?new=1");
    const more = () =>
      page.evaluate<number>(`Number(getComputedStyle(document.querySelector(".form-actions"), "::after").opacity)`);
    // The last field is rendered last.
    await page.getByRole("textbox", { name: "Description" }).waitFor();
    await expect.poll(more).toBe(1);
    // The arrow stands above the middle of the buttons, clear of the edges of the dialog.
    const [left, right] = await page.evaluate<readonly [number, number]>(`[
      parseFloat(getComputedStyle(document.querySelector(".form-actions"), "::after").marginLeft),
      parseFloat(getComputedStyle(document.querySelector(".form-actions"), "::after").marginRight),
    ]`);
    expect(left).toBeGreaterThan(100);
    expect(Math.abs(left - right)).toBeLessThanOrEqual(1);
    // The form renders its fields in stages, and can grow after it was scrolled.
    const moreAtEnd = async () => {
      await page.evaluate(`document.querySelector(".mantine-Modal-content").scrollTo(0, 10_000)`);
      return more();
    };
    await expect.poll(moreAtEnd).toBe(0);
    await inDialog(visit, "Cancel").click();
    await visit.open("/groups?new=1");
    await page.setViewportSize({ width: 1280, height: 900 });
    await inDialog(visit, "Review").waitFor();
    await expect.poll(more).toBe(0);
    await visit.leave();
  });

  test("finds the buttons of a row at its end", async () => {
    await given.client.must.post("/tenants/domains", { domain: "row.example.com" });
    const visit = await given.visit();
    await visit.page.setViewportSize({ width: 1440, height: 900 });
    await visit.open("/domains");
    const row = visit.page.getByRole("row", { name: /row\.example\.com/ });
    const [all, last] = [await boxOf(row), await boxOf(row.getByRole("button", { name: "Delete" }))];
    expect(all.x + all.width - (last.x + last.width)).toBeLessThanOrEqual(12);
    await visit.leave();
  });

  test("sees the whole navigation on a screen of 900 pixels, in the typeface of the console", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    const last = page.getByRole("navigation").getByRole("link", { name: "Settings", exact: true });
    const { y, height } = await boxOf(last);
    expect(y + height).toBeLessThanOrEqual(900);
    expect(await page.evaluate<boolean>("document.fonts.ready.then(() => document.fonts.check('13px Inter'))")).toBe(
      true,
    );
    await visit.leave();
  });

  test("sees a page that fits the window without a scrollbar", async () => {
    const visit = await given.visit();
    await visit.open("/domains");
    await heading(visit, "Domains").waitFor();
    await isQuiet(visit);
    const hidden = await visit.page.evaluate<number>("document.documentElement.scrollHeight - innerHeight");
    expect(hidden).toBe(0);
    await visit.leave();
  });

  test("reads a question about access on a phone, each field beside its word", async () => {
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    await visit.open("/access?view=what");
    const person = await boxOf(page.getByRole("combobox", { name: "User" }));
    // The verb ends the question, on a line of its own.
    const verb = await boxOf(page.getByText("reach", { exact: true }));
    const device = await boxOf(page.getByRole("combobox", { name: "Device" }));
    const time = await boxOf(page.getByRole("button", { name: "now", exact: true }));
    expect(verb.y - (device.y + device.height)).toBeLessThan(20);
    expect(time.y).toBeGreaterThan(verb.y + verb.height);
    expect(time.x).toBe(person.x);
    expect(time.width).toBeGreaterThan(person.width - 20);
    await visit.leave();
  });

  test("sees a member of a group on the line of its button on a phone", async () => {
    const visit = await given.visit({ width: 390 });
    await visit.open(`/groups/${await given.idOf("groups", "Engineering")}`);
    const row = visit.page.getByRole("row", { name: /engineer-01@example\.com/ });
    const [name, remove] = [await boxOf(row.getByRole("link")), await boxOf(row.getByRole("button"))];
    expect(Math.abs(name.y + name.height / 2 - (remove.y + remove.height / 2))).toBeLessThanOrEqual(1.5);
    await visit.leave();
  });

  test("sees the gateways of a resource as cards on a phone", async () => {
    const id = await given.idOf("resources", "Wiki");
    const { body } = await given.client.get(`/tenants/resources/${id}`);
    const gateways = body.gateways.map((gateway: { readonly id: string }) => gateway.id);
    await given.client.must.post(`/tenants/resources/${id}/loadBalancing`, { loadBalancingMode: "MANUAL", gateways });
    const visit = await given.visit({ width: 390 });
    await visit.open(`/resources/${id}`);
    const row = region(visit, /^Gateways/)
      .locator("tbody tr")
      .first();
    const name = await boxOf(row.getByRole("link"));
    const status = await boxOf(row.locator("td[data-label=Status]"));
    const disconnect = await boxOf(row.getByRole("button", { name: /^Disconnect/ }));
    expect(status.y).toBeGreaterThanOrEqual(name.y + name.height);
    expect(disconnect.x + disconnect.width).toBeLessThanOrEqual(390);
    expect(Math.abs(name.y + name.height / 2 - (disconnect.y + disconnect.height / 2))).toBeLessThanOrEqual(1.5);
    expect(await row.getByRole("button", { name: /^Reorder/ }).count()).toBe(0);
    const labels = await visit.page.evaluate<string[]>(`
      [...document.querySelectorAll("tr[data-row-of=gateway]:first-child > td[data-label]")].map(
        (cell) => getComputedStyle(cell, "::before").content)`);
    expect(labels).toEqual(['"Priority: "', '"Status: "']);
    await picture(visit.page, "resource-gateways-phone");
    await visit.leave();
  });

  test.each([1440, 768, 390])(
    "sees a long URL on one line of the list and whole on its page at %i pixels",
    async (width) => {
      const url = `https://hooks.example.com/${"environments/production/".repeat(8)}gatehouse`;
      const { id } = (await given.client.must.post("/tenants/webhooks", { name: "Long", url, active: false })).body;
      const visit = await given.visit({ width });
      const { page } = visit;
      await visit.open("/webhooks");
      const listed = page.getByRole("row", { name: /Long/ }).getByTitle(url);
      const line = await boxOf(listed);
      expect(line.height).toBeLessThan(30);
      expect(line.x + line.width).toBeLessThanOrEqual(width);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      await picture(page, `webhook-url-list-${width}`);
      await visit.open(`/webhooks/${id}`);
      const whole = page.locator("main code", { hasText: url });
      const box = await boxOf(whole);
      expect(box.x + box.width).toBeLessThanOrEqual(width - 16);
      expect(box.height).toBeGreaterThan(line.height);
      await picture(page, `webhook-url-${width}`);
      await given.client.must.delete(`/tenants/webhooks/${id}`);
      await visit.leave();
    },
  );

  test("sees the icon of the selected result of the palette as clearly as the others", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/groups");
    await heading(visit, "Groups").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Search pages").fill("eng");
    const colours = () =>
      page.evaluate<string[]>(`["[data-selected]", ":not([data-selected])"].map((which) => {
        const icon = document.querySelector("[data-action]" + which + " svg");
        return icon === null ? which : getComputedStyle(icon).color;
      })`);
    await expect.poll(async () => new Set(await colours()).size).toBe(1);
    await visit.leave();
  });

  test.each([1440, 390])("sees the link in the result of an admission rule underlined at %i pixels", async (width) => {
    const visit = await given.visit({ width });
    const { body } = await given.client.get("/tenants/users?filter[email]=engineer-01@example.com");
    const device = await given.idOf("devices", "engineer-01-laptop");
    const resource = await given.idOf("resources", "Source code");
    await visit.open(`/access?user=${body.data[0].id}&device=${device}&resource=${resource}`);
    const link = visit.page.getByRole("link", { name: "Compliant device" });
    await link.waitFor();
    // The underline of a link does not continue into a block inside it.
    const [line, inner] = await visit.page.evaluate<readonly string[]>(`(() => {
      const link = document.querySelector("main .status a");
      return [getComputedStyle(link).textDecorationLine, getComputedStyle(link.querySelector("bdi")).display];
    })()`);
    expect([line, inner]).toEqual(["underline", "inline"]);
    await visit.leave();
  });

  test("sees every kind of condition that a rule can have", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/admission-rules?new=1");
    await button(visit, "Add condition").click();
    const items = page.getByRole("menuitem");
    await items.first().waitFor();
    const covered = await page.evaluate<string[]>(`[...document.querySelectorAll("[role=menuitem]")].flatMap((item) => {
      const { left, top, width, height } = item.getBoundingClientRect();
      const shown = document.elementFromPoint(left + width / 2, top + height / 2);
      return item.contains(shown) ? [] : [item.textContent];
    })`);
    expect(covered).toEqual([]);
    await visit.leave();
  });

  test("reads the names in the trail with their descenders", async () => {
    const visit = await given.visit();
    await visit.open(`/policies/${await given.idOf("policies", "Engineering tools")}`);
    await heading(visit, "Engineering tools").waitFor();
    await visit.page.locator(".trail *").first().waitFor();
    const cut = await visit.page.evaluate<string[]>(`[...document.querySelectorAll(".trail *")]
      .filter((part) => part.scrollHeight > part.clientHeight + 1 && part.clientHeight > 0)
      .map((part) => part.outerHTML)`);
    expect(cut).toEqual([]);
    await visit.leave();
  });

  test("reads the effect of a change on a phone, whole and without scrolling inside the dialog", async () => {
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    const { body } = await given.client.get("/tenants/users?filter[email]=engineer-01@example.com");
    await visit.open(`/users/${body.data[0].id}`);
    await chooseAction(visit, "Delete");
    await effectOf(visit).getByText("Lost: always → never").first().waitFor();
    await effectOf(visit)
      .getByRole("cell", { name: /2 more resources and the internet$/ })
      .waitFor();
    await button(visit, /^Show each of the \d+ changes$/).waitFor();
    const cut = await page.evaluate<string[]>(`(() => {
      const dialog = document.querySelector("[role=dialog]");
      const edge = dialog.getBoundingClientRect().right;
      // The footer reaches into the padding of the dialog. Only elements that clip cut their content.
      const isCut = (part) =>
        part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1 && getComputedStyle(part).overflowX !== "visible";
      return [...dialog.querySelectorAll("*")]
        .filter((part) => part.getBoundingClientRect().right > edge || isCut(part))
        .map((part) => part.outerHTML.slice(0, 120));
    })()`);
    expect(cut).toEqual([]);
    const rows = effectOf(visit).getByRole("group", { name: "Access changes", exact: true });
    const hidden = await rows.evaluate(
      (area: { readonly scrollHeight: number; readonly clientHeight: number }) => area.scrollHeight - area.clientHeight,
    );
    expect(hidden).toBe(0);
    await visit.leave();
  });

  test("sees on a phone the facts that a decision needs", async () => {
    await given.client.must.post("/tenants/domains", { domain: "phone.example.com" });
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    await visit.open("/domains");
    await page.getByText("_gatehouse.phone.example.com").waitFor();
    await visit.open("/events");
    await page.getByRole("cell", { name: "First key" }).first().waitFor();
    await visit.open(`/gateways/${(await given.client.get("/tenants/gateways")).body[0].id}?tab=access`);
    await page.getByRole("cell", { name: "All users" }).first().waitFor();
    await button(visit, "Account").waitFor();
    const { body: found } = await given.client.get("/tenants/users?filter[email]=engineer-01@example.com");
    await visit.open(`/users/${found.data[0].id}`);
    const panel = page.getByRole("region", { name: /^Devices \(/ });
    await panel
      .getByRole("cell", { name: /^Last connection: / })
      .first()
      .waitFor();
    await visit.open("/users");
    await button(visit, "List options").click();
    await page.getByRole("menuitemcheckbox", { name: /^Groups Hidden at this width$/ }).waitFor();
    await visit.leave();
  });

  test("reads every list on a phone, whole and with facts below the names", async () => {
    await addRecords(given.world);
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    for (const at of lists) {
      await visit.open(`/${at}`);
      await page.locator("tbody td[data-main]").first().waitFor();
      await isQuiet(visit);
      await page.locator("tbody td[data-below]").first().waitFor();
      const cut = await page.evaluate<
        string[]
      >(`[document.documentElement, ...document.querySelectorAll("main :not([aria-hidden=true])")]
        .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1)
        .filter((part) => part === document.documentElement || getComputedStyle(part).overflowX !== "visible")
        .map((part) => part.outerHTML.slice(0, 120))`);
      expect(cut, at).toEqual([]);
    }
    await visit.leave();
  });

  test("sees every list option on a phone at once, beside or over the button", async () => {
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    await page.setViewportSize({ width: 390, height: 844 });
    await visit.open("/users");
    await page.locator("tbody a").first().waitFor();
    await button(visit, "List options").click();
    const menu = page.getByRole("menu");
    const { x, y, width, height } = await boxOf(menu);
    expect([x >= 0, y >= 0, x + width <= 390, y + height <= 844]).toEqual([true, true, true, true]);
    const hidden = await menu.evaluate(
      (area: { readonly scrollHeight: number; readonly clientHeight: number }) => area.scrollHeight - area.clientHeight,
    );
    expect(hidden).toBeLessThanOrEqual(0);
    await visit.leave();
  });

  test("reaches every action on selected rows on a phone, in two lines", async () => {
    const { body } = await given.client.get("/tenants/users?filter[email]=engineer-02@example.com");
    await given.client.must.patch(`/tenants/users/${body.data[0].id}/deactivate`, {});
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    await visit.open("/users?q=engineer");
    await page.getByRole("checkbox", { name: "Select engineer-01@example.com" }).check();
    await page.getByRole("checkbox", { name: "Select engineer-02@example.com" }).check();
    const buttons = page.getByRole("region", { name: "Selected records" }).getByRole("button");
    await expect
      .poll(() => buttons.allTextContents())
      .toEqual(expect.arrayContaining(["Add to group", "Deactivate", "Reactivate", "Delete"]));
    const boxes = await Promise.all((await buttons.all()).map(boxOf));
    const lines = new Set(boxes.map(({ y, height }) => Math.round((y + height / 2) / 10)));
    expect(lines.size).toBeLessThanOrEqual(2);
    expect(boxes.filter(({ x, width }) => x < 0 || x + width > 390)).toEqual([]);
    await visit.leave();
  });

  test("sees a panel without a neighbour as wide as the page", async () => {
    const visit = await given.visit({ width: 1440 });
    const { page } = visit;
    await visit.open(`/groups/${await given.idOf("groups", "Engineering")}`);
    const about = await boxOf(page.getByRole("region", { name: "About" }));
    const members = await boxOf(page.getByRole("region", { name: /^Members/ }));
    expect(Math.abs(about.width - members.width)).toBeLessThanOrEqual(1);
    await visit.leave();
  });

  test("sees the page behind a dialog stay where it is", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await page.setViewportSize({ width: 1280, height: 500 });
    await visit.open("/users");
    await page.locator("tbody a").first().waitFor();
    const scrolled = () => page.evaluate<number>("Math.round(scrollY)");
    await page.mouse.move(600, 300);
    await page.mouse.wheel(0, 120);
    await expect.poll(scrolled).toBeGreaterThan(0);
    const before = await scrolled();
    const title = await boxOf(page.getByRole("banner"));
    await page.locator("tbody a").nth(4).focus();
    await page.keyboard.press("Space");
    await page.getByRole("dialog").waitFor();
    await page.mouse.move(200, 300);
    await page.mouse.wheel(0, 200);
    await page.keyboard.press("PageDown");
    await isQuiet(visit);
    expect(await scrolled()).toBe(before);
    expect(await boxOf(page.getByRole("banner"))).toEqual(title);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.mouse.move(600, 300);
    await page.mouse.wheel(0, 120);
    await expect.poll(scrolled).toBeGreaterThan(before);
    await visit.leave();
  });

  test("sees nothing move while a list loads, if the system asks for reduced motion", async () => {
    const visit = await given.visit();
    const { page } = visit;
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((done) => {
      answer = done;
    });
    await page.route("**/tenants/users?*", (route) => answered.then(() => route.continue()));
    await visit.open("/users");
    await page.locator("tbody .mantine-Skeleton-root").first().waitFor();
    expect(await page.evaluate<number>("document.getAnimations().length")).toBe(0);
    answer();
    await page.locator("tbody a").first().waitFor();
    await visit.leave();
  });

  test("sees long host names wrap inside the list", async () => {
    const name = "Long name";
    const address = `${"very-long-label.".repeat(12)}example.com`;
    const resource = { name, type: "PRIVATE", addresses: [{ address, protocols: [] }] };
    await given.client.must.post("/tenants/resources", resource);
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/resources?q=Long name");
    await page.getByRole("link", { name }).waitFor();
    await isQuiet(visit);
    const list = page.getByRole("region", { name: "Resources" });
    const excess = await list.evaluate(
      (element: { readonly scrollWidth: number; readonly clientWidth: number }) =>
        element.scrollWidth - element.clientWidth,
    );
    expect(excess).toBeLessThanOrEqual(0);
    await visit.leave();
  });

  test("sees rows of one height in every list, and lower ones in the compact density", async () => {
    const visit = await given.visit({ width: 1440 });
    const { page } = visit;
    const heights: [number, number][] = [];
    for (const [path, row] of [
      ["/users", page.getByRole("row", { name: /accountant-01@example\.com/ })],
      ["/policies", page.getByRole("listitem").filter({ hasText: "Intranet for everyone" })],
    ] as const) {
      await visit.open(path);
      await row.waitFor();
      await isQuiet(visit);
      const { height: usual } = await boxOf(row);
      await button(visit, "List options").click();
      await page.getByRole("menuitemradio", { name: "Compact" }).click();
      await expect.poll(async () => (await boxOf(row)).height).toBeLessThanOrEqual(usual - 4);
      heights.push([usual, (await boxOf(row)).height]);
      await page.keyboard.press("Escape");
    }
    const [users, policies] = heights;
    for (const density of [0, 1] as const) {
      expect(Math.abs((users?.[density] ?? 0) - (policies?.[density] ?? 0))).toBeLessThanOrEqual(1);
    }
    await visit.leave();
  });

  test("sees access as a list at 1024 pixels, where the graph would be too small to read", async () => {
    const visit = await given.visit({ width: 1024 });
    await visit.open("/access?view=graph");
    await visit.page.getByRole("radio", { name: "List", checked: true }).waitFor({ state: "attached" });
    await visit.leave();
  });

  test("sees all columns of the access graph at 1280 pixels, and the mark of its library beside them", async () => {
    const visit = await given.visit({ width: 1280 });
    const { page } = visit;
    await visit.open("/access?view=graph");
    await page.locator(".graph-node").getByText("Frankfurt 1").waitFor();
    await isQuiet(visit);
    const frame = await boxOf(page.locator(".react-flow"));
    const edge = frame.x + frame.width;
    const rightmost = async () => {
      const boxes = await Promise.all((await page.locator(".graph-node").all()).map(boxOf));
      return Math.max(...boxes.map(({ x, width }) => x + width));
    };
    await expect.poll(rightmost).toBeLessThanOrEqual(edge);
    const mark = await boxOf(page.locator(".react-flow__attribution"));
    const nodes = await Promise.all((await page.locator(".graph-node").all()).map(boxOf));
    const covers = nodes.filter(
      ({ x, y, width, height }) =>
        x < mark.x + mark.width && mark.x < x + width && y < mark.y + mark.height && mark.y < y + height,
    );
    expect(covers).toEqual([]);
    await visit.leave();
  });
});
