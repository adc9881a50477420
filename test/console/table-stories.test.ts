/** Tables and the heads of pages, measured in a browser: cells of a row share a line, and texts keep their distance. */
import type { Locator } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { addRecords } from "./console-pages.ts";
import { hasBrowser } from "./console-world.ts";
import { button, heading, isQuiet, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const boxOf = async (part: Locator) => (await part.boundingBox()) ?? expect.fail("the part is not on the screen");

/**
 * The rows whose cells do not share their first line. Compares the middles of the first lines of texts, and of
 * checkboxes and buttons without words. A text of another size or typeface may differ by two pixels.
 */
const unevenRows = `[...document.querySelectorAll("main :is(tbody tr, .policy)")].flatMap((row) => {
  const middles = [...row.children].flatMap((cell) => {
    if (cell.getBoundingClientRect().width === 0) return [];
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT, (node) =>
      node.textContent.trim() === "" || node.parentElement.closest(".unseen, style") !== null
        ? NodeFilter.FILTER_SKIP
        : NodeFilter.FILTER_ACCEPT);
    const text = texts.nextNode();
    const range = document.createRange();
    if (text !== null) range.selectNodeContents(text);
    const box = text === null
      ? (cell.matches("button") ? cell : cell.querySelector("input[type=checkbox], button, a, svg"))?.getBoundingClientRect()
      : range.getClientRects()[0];
    return box === undefined || box.height === 0 ? [] : [box.top + box.height / 2];
  });
  return Math.max(...middles) - Math.min(...middles) > 2.1 ? [row.innerText + ": " + middles.join(" ")] : [];
})`;

describe.runIf(hasBrowser)("an administrator", () => {
  const given = storyWorld();
  beforeAll(() => addRecords(given.world));

  /** The paths of pages whose rows have cells of several lines, buttons, checkboxes or icons. */
  const paths = async () => {
    const gateways = (await given.client.must.get("/tenants/gateways")).body;
    const { body: people } = await given.client.must.get("/tenants/users?filter[email]=engineer-01@example.com");
    const [group, resource] = [await given.idOf("groups", "Engineering"), await given.idOf("resources", "Source code")];
    const policy = await given.idOf("policies", "Office systems");
    await given.client.must.patch(`/tenants/policies/${policy}`, { description: "Changed" });
    const { body: events } = await given.client.must.get("/tenants/events?sort=-position&limit=1");
    return [
      ...[
        "users",
        "devices",
        "resources",
        "domains",
        "device-sessions",
        "access-tests",
        "webhooks",
        "policies",
        "events",
      ],
      `gateways/${gateways[0].id}?tab=access`,
      `groups/${group}`,
      `groups/${group}?tab=access`,
      `users/${people.data[0].id}`,
      `resources/${resource}`,
      `events/${events.data[0].id}`,
    ];
  };

  test.each([1440, 1024])("reads the first lines of the cells of each row on one line at %i pixels", async (width) => {
    const visit = await given.visit({ width });
    const found: Record<string, readonly string[]> = {};
    for (const path of await paths()) {
      await visit.open(`/${path}`);
      await expect
        .poll(() => visit.page.locator("main :is(tbody tr, .policy)").count(), { message: path })
        .toBeGreaterThan(0);
      await isQuiet(visit);
      found[path] = await visit.page.evaluate<string[]>(unevenRows);
    }
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((path) => [path, []])));
    await visit.leave();
  });

  test("sees no column of policies on a phone that a laptop leaves out", async () => {
    const at = `/gateways/${(await given.client.must.get("/tenants/gateways")).body[0].id}?tab=access`;
    for (const [width, isShown] of [
      [1440, true],
      [1024, false],
      [390, false],
    ] as const) {
      const visit = await given.visit({ width });
      await visit.open(at);
      const changed = visit.page.locator("tbody td[data-label='Last changed']").first();
      await changed.waitFor({ state: "attached" });
      expect(await changed.isVisible(), `${width}`).toBe(isShown);
      await visit.leave();
    }
  });

  test.each([1440, 1024, 390])("reads the text below a title clear of the buttons at %i pixels", async (width) => {
    const visit = await given.visit({ width });
    for (const [path, title, label] of [
      ["domains", "Domains", "Add domain"],
      ["enrolment-keys", "Enrolment keys", "Create enrolment key"],
    ] as const) {
      await visit.open(`/${path}`);
      const [name, add] = [await boxOf(heading(visit, title)), await boxOf(button(visit, label))];
      const text = await boxOf(visit.page.locator(".page-about"));
      const below = text.y - (add.y + add.height);
      const beside = add.x - (text.x + text.width);
      expect(Math.max(below, beside), path).toBeGreaterThanOrEqual(12);
      expect(add.x + add.width, path).toBe(width - (width === 390 ? 12 : 20));
      expect(text.x, path).toBe(name.x);
    }
    await visit.leave();
  });

  test("reads the title of a page that has a text and no buttons", async () => {
    const visit = await given.visit();
    await visit.open("/device-sessions");
    const [title, text] = [
      await boxOf(heading(visit, "Device sessions")),
      await boxOf(visit.page.locator(".page-about")),
    ];
    expect(text.y).toBeGreaterThanOrEqual(title.y + title.height);
    expect(text.width).toBe(title.width);
    await visit.leave();
  });

  test("reads the heading of a DNS record on a phone apart from its first part", async () => {
    const visit = await given.visit({ width: 390 });
    await visit.open("/domains");
    const cell = visit.page.locator("td[data-label]", { has: visit.page.locator(".record-part") }).first();
    await cell.waitFor();
    const [content, weight, margin] = await cell.evaluate((element: never) => {
      const style = (
        globalThis as unknown as { getComputedStyle(of: never, part: string): Record<string, string> }
      ).getComputedStyle(element, "::before");
      return [style.content, style.fontWeight, style.marginBottom];
    });
    expect([content, weight, margin]).toEqual(['"TXT record to create in DNS"', "500", "8px"]);
    await visit.leave();
  });
});
