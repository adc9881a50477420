import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture } from "./console-world.ts";
import { button, heading, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

/** The review of the console counted 38. */
const mostInteractions = 12;

describe.runIf(hasBrowser)("an administrator who publishes a resource", () => {
  const given = storyWorld();

  test("names address, gateway, people and conditions on one page, in at most twelve interactions", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/overview");
    await heading(visit, "Overview").waitFor();
    let interactions = 0;
    const step = async (interaction: Promise<unknown>) => {
      interactions += 1;
      await interaction;
    };
    await step(page.getByRole("link", { name: "Publish a resource" }).click());
    await heading(visit, "Publish a resource").waitFor();
    await step(page.getByRole("textbox", { name: "Address" }).fill("handbook.internal:443"));
    await page.getByText("handbook.internal, HTTPS (TCP 443)").waitFor();
    await step(page.getByRole("combobox", { name: "Gateway" }).click());
    await step(page.getByRole("option", { name: "New gateway…" }).click());
    await step(page.getByRole("textbox", { name: "New gateway’s name" }).fill("Rack 4"));
    await step(page.getByRole("combobox", { name: "Groups" }).click());
    await step(page.getByRole("option", { name: "Engineering", exact: true }).click());
    await page.keyboard.press("Escape");
    await step(page.getByRole("checkbox", { name: "The device’s disk is encrypted" }).check());
    await step(page.getByRole("checkbox", { name: /^Only Monday to Friday/ }).check());
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "publish-filled");
    await step(button(visit, "Review").click());
    await page.getByRole("region", { name: "Effect of this change" }).getByText(/gain/).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "publish-review");
    await step(button(visit, "Publish").click());
    await page.getByRole("heading", { name: "“Handbook” is published" }).waitFor();
    await picture(page, "publish-done");
    expect(interactions).toBeLessThanOrEqual(mostInteractions);
    const { body } = await given.client.get("/tenants/policies?filter[name]=Access%20to%20Handbook");
    expect(body.data).toMatchObject([
      { action: true, groups: [{ name: "Engineering" }], resources: [{ name: "Handbook" }], rule: { type: "CUSTOM" } },
    ]);
    await visit.leave();
  });

  test("is asked before the Back button of the browser drops input", async () => {
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/users");
    await heading(visit, "Users").waitFor();
    await page.getByRole("link", { name: "Gateways", exact: true }).click();
    await button(visit, "Create gateway").click();
    const name = page.getByRole("textbox", { name: "Name" });
    await name.fill("Half done");
    await page.goBack();
    await page.getByText("Discard your changes?").waitFor();
    await button(visit, "Keep editing").click();
    expect(await name.inputValue()).toBe("Half done");
    await page.goBack();
    await button(visit, "Discard").click();
    await heading(visit, "Users").waitFor();
    await visit.leave();
  });

  test("undoes a change from the notice that confirms it", async () => {
    const visit = await given.visit();
    const { page } = visit;
    const { body } = await given.client.post("/tenants/groups", { name: "Night shift", description: "Before" });
    await visit.open(`/groups/${body.id}`);
    await button(visit, "Edit").click();
    await page.getByRole("textbox", { name: "Description" }).fill("After");
    await button(visit, "Review").click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await button(visit, "Undo").click();
    await page.getByRole("region", { name: "About" }).getByText("Before").waitFor();
    expect((await given.client.get(`/tenants/groups/${body.id}`)).body.description).toBe("Before");
    await visit.leave();
  });

  test("stays in the console while the code of a page cannot be loaded", async () => {
    const visit = await given.visit({ fresh: true });
    const { page } = visit;
    await visit.open("/users");
    await heading(visit, "Users").waitFor();
    let isDown = true;
    for (const url of ["**/assets/webhooks.page-*.js", "**/console/"]) {
      await page.route(url, (route) => (isDown ? route.abort("aborted") : route.continue()));
    }
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByText("This page could not be loaded").waitFor();
    isDown = false;
    await heading(visit, "Webhooks").waitFor();
    await visit.leave();
  });
});
