/** The audit record: searches in it, and changes that are reverted from it. */
import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture, type Visit } from "./console-world.ts";
import { button, effectOf, heading, inDialog, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an administrator of the audit record", () => {
  const given = storyWorld();
  /** Opens the preview of a revert from the page of an event. */
  const previewRevert = async (visit: Visit, event: string) => {
    await visit.open(`/events/${event}`);
    await button(visit, "Preview revert").click();
    await visit.page.getByRole("dialog").waitFor();
  };
  /** Returns the newest event of an operation on a record. */
  const eventOf = async (id: string, operation: string): Promise<string> =>
    (await given.client.get(`/tenants/events?filter[target.id]=${id}&filter[operation]=${operation}&sort=-position`))
      .body.data[0].id;

  test("finds events by time, operation, key, record and request in the address, and follows them live", async () => {
    const { body } = await given.client.post("/tenants/groups", { name: "Looked for" });
    const visit = await given.visit();
    const { page } = visit;
    await visit.open("/events");
    await button(visit, "More filters").click();
    await page.getByRole("textbox", { name: "Operation" }).fill("creategroup");
    await page.keyboard.press("Enter");
    await page.waitForURL(/operation=creategroup/);
    await page.locator("input[type=datetime-local]").first().fill("2020-01-01T00:00");
    await page.waitForURL(/from=2019-12-31T23/);
    await page.getByRole("link", { name: "Created group" }).first().waitFor();
    // The rows of the previous filters are shown until the new ones come.
    await expect.poll(() => page.locator("tbody").getByRole("link").allTextContents()).not.toContain("Invited user");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "events-filters");
    await page.getByRole("textbox", { name: "Target ID" }).fill(body.id);
    await page.keyboard.press("Enter");
    await page.getByText("1 result", { exact: true }).waitFor();
    await page.getByRole("switch", { name: /live/i }).click();
    await page.getByText("Following live").waitFor();
    await given.client.must.post("/tenants/groups", { name: "Not looked for" });
    await page.getByRole("textbox", { name: "Operation" }).fill("group");
    await page.keyboard.press("Enter");
    await page.getByText("Following live").waitFor();
    await given.client.must.put(`/tenants/groups/${body.id}`, { description: "Found" });
    await page.getByText("2 results", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Created group" }).click();
    await page.getByRole("link", { name: "View history" }).click();
    await page.getByText("2 results", { exact: true }).waitFor();
    await visit.leave();
  });

  test("reverts a change, with the same review as any other change", async () => {
    const id = await given.idOf("policies", "Intranet for everyone");
    const before = (await given.client.get(`/tenants/policies/${id}`)).body;
    const changed = await given.client.patch(`/tenants/policies/${id}`, {
      name: "Intranet",
      resources: [],
      allUsers: false,
      allGroups: false,
    });
    expect(changed.status).toBe(200);
    await given.client.patch(`/tenants/policies/${id}`, { description: "Changed later" });
    const visit = await given.visit();
    const { page } = visit;
    const event = (
      await given.client.get(`/tenants/events?filter[target.id]=${id}&filter[operation]=updatePolicy&sort=-position`)
    ).body.data[1].id;
    await previewRevert(visit, event);
    await page.getByRole("dialog").getByRole("row", { name: /^Name/ }).waitFor();
    await effectOf(visit).getByText("Gained:").first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "revert-review");
    await inDialog(visit, "Revert").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const after = (await given.client.get(`/tenants/policies/${id}`)).body;
    for (const field of ["name", "active", "allUsers", "allGroups", "rule", "sourceIps"]) {
      expect(after[field], field).toEqual(before[field]);
    }
    expect(after.description).toBe("Changed later");
    expect(after.resources.map(({ id: each }: { id: string }) => each).sort()).toEqual(
      before.resources.map(({ id: each }: { id: string }) => each).sort(),
    );
    await button(visit, "Preview revert").click();
    await page.getByText("The record already has the values from before this event").waitFor();
    await visit.leave();
  });

  test("reverts the order of policies", async () => {
    const read = async () =>
      (await given.client.get("/tenants/policies?filter[type]=PRIVATE&sort=order")).body.data as readonly {
        readonly id: string;
      }[];
    const before = (await read()).map(({ id }) => id);
    const reversed = await given.client.post("/tenants/policies/reorder", {
      type: "PRIVATE",
      policies: [...before].reverse(),
    });
    expect(reversed.status).toBe(204);
    const visit = await given.visit();
    await previewRevert(visit, await eventOf(before[0] ?? "", "reorderPolicies"));
    await effectOf(visit).waitFor();
    await inDialog(visit, "Revert").click();
    await visit.page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await read()).map(({ id }) => id)).toEqual(before);
    await visit.leave();
  });

  test("creates a deleted resource and a deleted group again, with everything that belonged to them", async () => {
    const gateway = (await given.client.get("/tenants/gateways")).body[0];
    const made = await given.client.post("/tenants/resources", {
      name: "Short-lived",
      type: "PRIVATE",
      addresses: [{ address: "192.0.2.77", protocols: [(await given.client.get("/tenants/protocols")).body[0].id] }],
    });
    expect(made.status).toBe(201);
    await given.client.put(`/tenants/resources/${made.body.id}/gateways/${gateway.id}`);
    await given.client.delete(`/tenants/resources/${made.body.id}`);
    const visit = await given.visit();
    const { page } = visit;
    await previewRevert(visit, await eventOf(made.body.id, "deleteResource"));
    await page.getByText("The deleted record returns with a new ID").waitFor();
    await effectOf(visit).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "revert-deletion");
    await inDialog(visit, "Revert").click();
    await heading(visit, "Short-lived").waitFor();
    await page.getByRole("link", { name: gateway.name }).waitFor();
    await page.getByText("192.0.2.77").waitFor();

    const user = (await given.client.get("/tenants/users?limit=1")).body.data[0];
    const group = await given.client.post("/tenants/groups", { name: "Short-lived too", description: "As it was" });
    await given.client.post(`/tenants/users/${user.id}/groups`, { groupId: group.body.id });
    const policy = await given.client.post("/tenants/policies", {
      name: "Names what is short-lived",
      type: "PRIVATE",
      action: true,
      groups: [group.body.id],
      resources: [await given.idOf("resources", "Wiki")],
    });
    expect((await given.client.delete(`/tenants/groups/${group.body.id}`)).status).toBe(204);
    await previewRevert(visit, await eventOf(group.body.id, "deleteGroup"));
    await effectOf(visit).waitFor();
    await inDialog(visit, "Revert").click();
    await heading(visit, "Short-lived too").waitFor();
    await page.getByRole("region", { name: "Members (1)" }).getByRole("link", { name: user.email }).waitFor();
    const named = (await given.client.get(`/tenants/policies/${policy.body.id}`)).body.groups;
    expect(named.map(({ name }: { name: string }) => name)).toEqual(["Short-lived too"]);
    await visit.leave();
  });

  test("omits deleted records that another record named, and says so", async () => {
    const group = await given.client.post("/tenants/groups", { name: "Gone soon" });
    const kept = await given.client.post("/tenants/groups", { name: "Kept" });
    const policy = await given.client.post("/tenants/policies", {
      name: "Names a group that goes",
      type: "PRIVATE",
      action: true,
      groups: [group.body.id, kept.body.id],
    });
    expect(policy.status).toBe(201);
    await given.client.patch(`/tenants/policies/${policy.body.id}`, { groups: [] });
    await given.client.delete(`/tenants/groups/${group.body.id}`);
    const visit = await given.visit();
    await previewRevert(visit, await eventOf(policy.body.id, "updatePolicy"));
    await visit.page.getByText("The record does not exist any more").waitFor();
    await effectOf(visit).waitFor();
    await inDialog(visit, "Revert").click();
    await expect
      .poll(async () =>
        (await given.client.get(`/tenants/policies/${policy.body.id}`)).body.groups.map(
          ({ name }: { name: string }) => name,
        ),
      )
      .toEqual(["Kept"]);
    await visit.leave();
  });

  test("is notified if someone else saved first, sees the new record, and can then revert it", async () => {
    const { body } = await given.client.post("/tenants/groups", { name: "Put back late", description: "First" });
    await given.client.put(`/tenants/groups/${body.id}`, { description: "Second" });
    const visit = await given.visit();
    const { page } = visit;
    await previewRevert(visit, await eventOf(body.id, "updateGroup"));
    await effectOf(visit)
      .getByText(/access changes/)
      .waitFor();
    await given.client.put(`/tenants/groups/${body.id}`, { description: "Third" });
    visit.expectFailures(412);
    await inDialog(visit, "Revert").click();
    await page.getByRole("dialog").getByRole("alert").getByText("Records have changed since the preview").waitFor();
    await page.getByRole("dialog").getByRole("cell", { name: "Third" }).waitFor();
    await page.getByText("Later changes that the revert undoes").waitFor();
    await inDialog(visit, "Revert").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await given.client.get(`/tenants/groups/${body.id}`)).body.description).toBe("First");
    await visit.leave();
  });

  test("sees which changes cannot be reverted and why, and an auditor sees no action", async () => {
    const key = await given.client.post("/tenants/api-keys", { name: "Revoked", role: "AUDITOR" });
    await given.client.delete(`/tenants/api-keys/${key.body.id}`);
    const visit = await given.visit();
    await previewRevert(visit, await eventOf(key.body.id, "deleteApiKey"));
    await visit.page.getByText("stores only the hash of an API key").waitFor();
    expect(await inDialog(visit, "Revert").count()).toBe(0);
    await visit.leave();

    const { body } = await given.client.post("/tenants/groups", { name: "Looked at" });
    await given.client.put(`/tenants/groups/${body.id}`, { description: "Changed" });
    const auditor = await given.visit({ key: await given.world.keyOf("AUDITOR") });
    await auditor.open(`/events/${await eventOf(body.id, "updateGroup")}`);
    await auditor.page.getByRole("region", { name: "Before and after" }).waitFor();
    expect(await button(auditor, "Preview revert").count()).toBe(0);
    await auditor.leave();
  });
});
