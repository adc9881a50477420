/** Layout of a phone: targets are large enough for a finger, and buttons are aligned with what is around them. */
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser } from "./console-world.ts";
import { button, inDialog, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const boxOf = async (part: Locator) => (await part.boundingBox()) ?? expect.fail("the part is not on the screen");

describe.runIf(hasBrowser)("an administrator with a phone", () => {
  const given = storyWorld();

  test("selects each view of access with a finger", async () => {
    const visit = await given.visit({ width: 390 });
    await visit.open("/access");
    const views = visit.page.getByRole("tablist", { name: "View" }).getByRole("tab");
    await expect.poll(() => views.count()).toBe(4);
    for (const view of await views.all()) expect((await boxOf(view)).height).toBeGreaterThanOrEqual(34);
    await visit.open("/access?view=graph");
    // The selected view stands in the row, also if the row is wider than the screen.
    const endOf = async (name: string) => {
      const { x, width } = await boxOf(visit.page.getByRole("tab", { name, selected: true }));
      return x + width;
    };
    await expect.poll(() => endOf("Graph")).toBeLessThanOrEqual(390 - 40);
    await visit.page.setViewportSize({ width: 1000, height: 800 });
    await visit.page.setViewportSize({ width: 390, height: 800 });
    await expect.poll(() => endOf("Graph")).toBeLessThanOrEqual(390 - 40);
    await visit.leave();
  });

  test("opens pages of the navigation with a finger", async () => {
    const visit = await given.visit({ width: 390 });
    await visit.open("/overview");
    await button(visit, "Navigation").click();
    const pages = visit.page.getByRole("navigation", { name: "Pages" });
    await pages.getByRole("link", { name: "Users" }).waitFor();
    for (const link of await pages.getByRole("link").all()) {
      expect((await boxOf(link)).height).toBeGreaterThanOrEqual(44);
    }
    await visit.leave();
  });

  test("sees buttons as wide as their line, in dialogs and on the page that publishes a resource", async () => {
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    await visit.open("/devices?new=1");
    const copy = await boxOf(inDialog(visit, "Copy link to “My access and devices”"));
    expect(copy.width).toBe((await boxOf(inDialog(visit, "Create invitation link"))).width);
    expect(copy.width).toBe((await boxOf(inDialog(visit, "Close").last())).width);
    await visit.open("/publish");
    const address = page.getByRole("textbox", { name: "Address" });
    await address.fill("handbook.internal:443");
    expect((await boxOf(button(visit, "Review"))).width).toBeGreaterThan((await boxOf(address)).width);
    await page.getByRole("combobox", { name: "Groups" }).click();
    await page.getByRole("option", { name: "Engineering", exact: true }).click();
    await page.keyboard.press("Escape");
    await button(visit, "Review").click();
    const [back, publish] = [await boxOf(button(visit, "Back to form")), await boxOf(button(visit, "Publish"))];
    expect(Math.abs(back.width - publish.width)).toBeLessThanOrEqual(20);
    expect(back.width + publish.width).toBeGreaterThan(300);
    await visit.leave();
  });

  test("sees the count of selected rows and the actions on them begin at one edge", async () => {
    const visit = await given.visit({ width: 390 });
    const { page } = visit;
    await visit.open("/users");
    await page.getByRole("checkbox", { name: "Select agent-01@example.com" }).check();
    const bar = page.getByRole("region", { name: "Selected records" });
    const count = await boxOf(bar.getByText("1 selected"));
    expect(Math.abs(count.x - (await boxOf(bar.getByRole("button", { name: "Add to group" }))).x)).toBeLessThan(1);
    const cross = await boxOf(bar.getByRole("button", { name: "Clear selection" }).locator("svg"));
    const last = await boxOf(bar.getByRole("button", { name: "Delete" }));
    expect(Math.abs(cross.x + cross.width - (last.x + last.width))).toBeLessThanOrEqual(3);
    await visit.leave();
  });
});
