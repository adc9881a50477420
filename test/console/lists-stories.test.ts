/** Stories of lists: selected records are changed together, and rows are shown without leaving the list. */
import { describe, expect, test } from "vitest";
import { hasBrowser } from "./console-world.ts";
import { button, chooseAction, heading, inDialog, storyWorld, warnIfSkipped } from "./story-world.ts";

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
    await button(visit, "Undo").click();
    await page.getByText("Change undone").waitFor();
    const undone = await stories.client.get("/tenants/devices?filter[active]=true&limit=100");
    expect(undone.body.total).toBe(before.body.total);
    await visit.leave();
  });

  test("an administrator undoes an invitation, with the group that was created for it", async () => {
    const visit = await stories.visit();
    const { page } = visit;
    await visit.open("/users?new=1");
    await page.getByRole("textbox", { name: /^Email addresses/ }).fill("undone@example.com");
    const groups = page.getByRole("combobox", { name: /^Groups/ });
    await groups.fill("Undone people");
    await page.getByRole("option", { name: /Undone people/ }).click();
    await page.keyboard.press("Escape");
    await inDialog(visit, "Review").click();
    await inDialog(visit, "Invite").click();
    await page.getByText("1 user invited").waitFor();
    // The dialog with the links hides the rest of the page from assistive technology, but not the notice on the screen.
    await page.getByRole("button", { name: "Undo", includeHidden: true }).click();
    await page.getByText("Change undone").waitFor();
    const left = async (path: string) => (await stories.client.get(`/tenants/${path}`)).body.total;
    expect(await left("users?filter[email]=undone@example.com")).toBe(0);
    expect(await left("groups?filter[name]=Undone%20people")).toBe(0);
    await visit.leave();
  });

  test("an administrator deletes a resource that a policy names, in one change", async () => {
    const visit = await stories.visit();
    visit.expectFailures(409);
    const { page } = visit;
    const id = await stories.idOf("resources", "Wiki");
    const policy = await stories.idOf("policies", "Intranet for everyone");
    await visit.open(`/resources/${id}`);
    await chooseAction(visit, "Delete");
    await page
      .getByRole("region", { name: "Effect of this change" })
      .getByText(/lose access/)
      .first()
      .waitFor();
    await inDialog(visit, "Remove from 1 policy and delete").click();
    await heading(visit, "Resources").waitFor();
    expect((await stories.client.get(`/tenants/resources/${id}`)).status).toBe(404);
    const { resources } = (await stories.client.get(`/tenants/policies/${policy}`)).body;
    expect(resources.map(({ name }: { readonly name: string }) => name).sort()).toEqual([
      "File shares",
      "Internal DNS",
    ]);
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
