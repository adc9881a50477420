/** Parts with one role look the same wherever they stand: the header, menus, effects and names. */
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser } from "./console-world.ts";
import { button, effectOf, heading, inDialog, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

/** The measures of an element. The types of the DOM are not part of these tests. */
interface Sized {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}

const boxOf = async (part: Locator) => (await part.boundingBox()) ?? expect.fail("the part is not on the screen");

/** The values of a property of the elements that match a selector inside a part. */
const stylesOf = (part: Locator, selector: string, property: "color" | "fontSize" | "fontWeight") =>
  part.evaluate(
    // The compiler does not know the document of the page.
    (root: { querySelectorAll(selector: string): Iterable<never> }, [matching, name]: readonly [string, string]) => [
      ...new Set(
        [...root.querySelectorAll(matching)].map(
          (element) =>
            (globalThis as unknown as { getComputedStyle(of: never): Record<string, string> }).getComputedStyle(
              element,
            )[name],
        ),
      ),
    ],
    [selector, property] as const,
  );

describe.runIf(hasBrowser)("an administrator", () => {
  const given = storyWorld();

  test("reads what needs attention as one line, with links in it", async () => {
    const visit = await given.visit({ width: 1440 });
    await visit.open("/overview");
    const verdict = region(visit, "Summary").locator(".verdict [data-tone]");
    const link = verdict.getByRole("link").first();
    const [line, text] = [await boxOf(verdict), await boxOf(link)];
    expect(line.height).toBeLessThan(2 * text.height);
    expect(line.height).toBeLessThan(40);
    await visit.leave();
  });

  test("reads the whole email address in a question about access at a past time", async () => {
    const visit = await given.visit({ width: 1440 });
    const { page } = visit;
    const { body } = await given.client.get("/tenants/users?filter[email]=engineer-05@example.com");
    await visit.open(
      `/access?user=${body.data[0].id}&resource=${await given.idOf("resources", "Wiki")}&at=2041-11-28T10:00:00Z`,
    );
    const person = page.getByRole("combobox", { name: "User" });
    await expect.poll(() => person.inputValue()).toBe("engineer-05@example.com");
    const hidden = await person.evaluate((field: Sized) => field.scrollWidth - field.clientWidth);
    expect(hidden).toBe(0);
    const time = await boxOf(page.getByRole("button", { name: /^at 28 Nov 2041/ }));
    expect(time.y).toBe((await boxOf(person)).y);
    await visit.leave();
  });

  test.each([1440, 1024, 390])("sees the header aligned with the page at %i pixels", async (width) => {
    const visit = await given.visit({ width });
    await visit.open("/configuration");
    await heading(visit, "Configuration file").waitFor();
    const search = await boxOf(visit.page.getByRole("banner").getByRole("button", { name: /^Search/ }));
    expect(Math.abs(search.x + search.width / 2 - width / 2)).toBeLessThanOrEqual(0.5);
    const [account, panel] = [await boxOf(button(visit, "Account")), await boxOf(visit.page.locator(".panel").first())];
    expect(account.x + account.width).toBe(panel.x + panel.width);
    if (width === 390) {
      const menu = await boxOf(visit.page.getByRole("banner").getByRole("button").first());
      expect(menu.x).toBe(panel.x);
    }
    await visit.leave();
  });

  test("sees each menu and each list of options stand out from the page", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users");
    await heading(visit, "Users").waitFor();
    const shadow = async (part: Locator) => {
      await part.waitFor();
      return part.evaluate(
        (element: never) =>
          (globalThis as unknown as { getComputedStyle(of: never): { boxShadow: string } }).getComputedStyle(element)
            .boxShadow,
      );
    };
    const shadows: string[] = [];
    await button(visit, "List options").click();
    shadows.push(await shadow(page.getByRole("menu")));
    await page.keyboard.press("Escape");
    await page.getByRole("combobox", { name: "Status" }).click();
    shadows.push(await shadow(page.locator("[data-position]", { has: page.getByRole("option") })));
    await page.keyboard.press("Escape");
    await button(visit, "Account").click();
    const menu = page.getByRole("menu");
    shadows.push(await shadow(menu));
    expect(new Set(shadows).size).toBe(1);
    expect(shadows).not.toContain("none");
    const [header, below] = [await boxOf(page.getByRole("banner")), await boxOf(menu)];
    expect(below.y - (header.y + header.height)).toBeGreaterThanOrEqual(4);
    await visit.leave();
  });

  test("sees the name of a hidden column no weaker than the reason", async () => {
    const visit = await given.visit({ width: 1024 });
    await visit.open("/users");
    await button(visit, "List options").click();
    const item = visit.page.getByRole("menuitemcheckbox", { disabled: true }).first();
    await item.waitFor();
    const colours = await stylesOf(visit.page.getByRole("menu"), "[data-disabled], [data-disabled] p", "color");
    expect(colours).toHaveLength(1);
    await visit.leave();
  });

  test("reads the whole effect of a change in one size, apart from the counts", async () => {
    const visit = await given.visit();
    const { page } = visit;
    // Nobody's access changes at the weekend.
    const sunday = new Date();
    sunday.setUTCHours(12);
    sunday.setUTCDate(sunday.getUTCDate() + 7 - sunday.getUTCDay());
    await page.clock.setFixedTime(sunday);
    await visit.open(`/policies/${await given.idOf("policies", "Books in office hours")}`);
    await button(visit, "Edit").click();
    await page.getByRole("combobox", { name: "Groups", exact: true }).fill("Support");
    await page.getByRole("option", { name: "Support", exact: true }).click();
    await page.keyboard.press("Tab");
    await inDialog(visit, "Review").click();
    const effect = effectOf(visit);
    await effect.getByText("At this moment").waitFor();
    expect(await stylesOf(effect, "p, td", "fontSize")).toEqual(["13px"]);
    const [more, now] = [
      await boxOf(effect.getByRole("button")),
      await boxOf(effect.getByText("At this moment", { exact: true })),
    ];
    expect(now.y - (more.y + more.height)).toBeGreaterThanOrEqual(16);
    await visit.leave();
  });

  test("sees the links of an effect in the weight of its other words", async () => {
    const id = await given.idOf("policies", "Office systems");
    await given.client.must.patch(`/tenants/policies/${id}`, { groups: [await given.idOf("groups", "Sales")] });
    const visit = await given.visit();
    await visit.open("/events");
    await visit.page.locator("tbody a").first().click();
    const effect = region(visit, "Effect on access");
    await effect.locator("td a").first().waitFor();
    expect(await stylesOf(effect, "td, td a", "fontWeight")).toEqual(["400"]);
    await visit.leave();
  });

  test("reads a policy and its parts in the same order in the graph and on the page of a gateway", async () => {
    const visit = await given.visit({ width: 1024 });
    const { page } = visit;
    const columns = async () => {
      await page.getByRole("columnheader", { name: "Subjects" }).waitFor();
      return (await page.getByRole("columnheader").allTextContents()).slice(0, 4);
    };
    await visit.open("/access?view=graph&form=list");
    const inGraph = await columns();
    const [name, rest] = [page.getByRole("cell", { name: /^1\. / }), page.locator("tbody td:nth-child(3)")];
    expect(await stylesOf(name, "a", "fontWeight")).toEqual(["500"]);
    expect(await stylesOf(rest.first(), "a, span", "fontWeight")).toEqual(["400"]);
    // Usual names stay on one line.
    for (const link of await page.getByRole("link", { name: /^(Kubernetes production|Frankfurt 1)$/ }).all()) {
      expect((await boxOf(link)).height).toBeLessThan(30);
    }
    const { body } = await given.client.get("/tenants/gateways");
    await visit.open(`/gateways/${body[0].id}?tab=access`);
    expect(await columns()).toEqual(inGraph);
    await visit.leave();
  });
});
