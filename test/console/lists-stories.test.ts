/** Stories of lists: selected records are changed together, and rows are shown without leaving the list. */
import { describe, expect, test } from "vitest";
import { hasBrowser } from "./console-world.ts";
import { button, heading, inDialog, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("lists", () => {
  const stories = storyWorld();

  test("an administrator deactivates the devices that were not seen, after one preview", async () => {
    const visit = await stories.visit();
    const { page } = visit;
    const before = await stories.client.get("/tenants/devices?filter[active]=true&limit=100");
    const chosen: readonly { readonly name: string }[] = before.body.data.slice(0, 2);
    await visit.open("/devices?active=true");
    await heading(visit, "Devices").waitFor();
    for (const { name } of chosen) await page.getByRole("checkbox", { name: `Select ${name}`, exact: true }).check();
    await page.getByText("2 selected").waitFor();
    await button(visit, "Deactivate").click();
    await page.getByRole("region", { name: "Effect of this change" }).waitFor();
    await inDialog(visit, "Deactivate").click();
    await page.getByText("2 records changed").waitFor();
    const after = await stories.client.get("/tenants/devices?filter[active]=true&limit=100");
    expect(after.body.total).toBe(before.body.total - 2);
    await visit.leave();
  });

  test("the keyboard alone shows a row in the side panel, and opens its record", async () => {
    const visit = await stories.visit();
    const { page } = visit;
    await visit.open("/groups");
    await heading(visit, "Groups").waitFor();
    const link = page.locator("tbody a").first();
    const name = (await link.textContent()) ?? "";
    await link.focus();
    await page.keyboard.press("Space");
    await page.getByRole("dialog", { name }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await link.focus();
    await page.keyboard.press("Enter");
    await heading(visit, name).waitFor();
    await visit.leave();
  });
});
