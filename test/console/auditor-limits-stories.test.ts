/** Secrets that an auditor does not see, requests that are refused, and the main pages without controls that write. */
import { isWrite } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { describe, expect, test } from "vitest";
import { accessibilityProblems, hasBrowser, picture, type Visit } from "./console-world.ts";
import { isQuiet, offersNothing, region, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("an auditor's limits", () => {
  const given = storyWorld();

  test("reads keys and webhooks, and none of their secrets", async () => {
    const key = (await given.client.post("/tenants/api-keys", { name: "Inventory", role: "BASIC" })).body;
    const hook = (
      await given.client.must.post("/tenants/webhooks", { url: "https://hooks.example.com/tickets", active: false })
    ).body;
    const visit = await given.visitAsAuditor();
    const { page } = visit;
    const answers: Promise<string>[] = [];
    page.on("response", (response) => {
      if (/\/tenants\/(api-keys|webhooks)/.test(response.url())) answers.push(response.text());
    });
    await visit.open("/api-keys?q=Inventory");
    await page.getByRole("link", { name: "Inventory" }).click();
    await region(visit, "About").getByText(key.key.slice(0, 18)).waitFor();
    await region(visit, "Permissions")
      .getByRole("row", { name: /^Users .*Yes/ })
      .waitFor();
    await offersNothing(visit, "API key");
    await visit.open("/webhooks");
    await page.getByRole("link", { name: hook.name }).click();
    await region(visit, "Deliveries").getByText("No deliveries yet").waitFor();
    await offersNothing(visit, "webhook");
    const told = (await Promise.all(answers)).join("\n");
    expect(told).toContain(hook.id);
    for (const secret of [key.key, hook.secret]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(told).not.toContain(secret);
    }
    await visit.leave();
  });

  test("is refused by the API for every action that the console does not offer", async () => {
    const group = { method: "POST", path: "/tenants/groups", body: { name: "By hand" } };
    const reversible = await given.client.must.post(group.path, { name: "To be reverted" });
    // Change sets and reverts are refused because of the changes that they contain, and a body is checked first.
    const bodies: Readonly<Record<string, object>> = {
      applyChanges: { body: { changes: [group] } },
      renamePasskey: { body: { name: "By hand" } },
      revertEvent: { path: `/tenants/events/${reversible.headers["gatehouse-event"]}/revert` },
    };
    const writes = operations
      .filter((operation) => isWrite(operation) && operation.access !== "operator" && operation.access !== undefined)
      .map(({ id, method, path }) => ({
        id,
        method,
        path: path.replaceAll(/\{\w+\}/g, "01a1fab8-9606-77f6-b88d-04c52b2b8fba"),
        ...bodies[id],
      }));
    expect(writes.length).toBeGreaterThan(40);
    const send = ({ page }: Visit, asked: object) =>
      page.evaluate<string[]>(
        `Promise.all(${JSON.stringify(asked)}.map(async ({ id, method, path, body = {} }) => {
          const headers = { "content-type": "application/json" };
          return id + " " + (await fetch(path, { method, headers, body: JSON.stringify(body) })).status;
        }))`,
      );
    const latest = async () => (await given.client.get("/tenants/events?sort=-position&limit=1")).body.data[0].id;
    const visit = await given.visit({ key: await given.world.keyOf("AUDITOR") });
    await visit.open("/overview");
    visit.expectFailures(403);
    const before = await latest();
    expect(await send(visit, writes)).toEqual(writes.map(({ id }) => `${id} 403`));
    expect(await latest()).toBe(before);
    await visit.leave();
    // The same check for a user with permission.
    const owner = await given.visit();
    await owner.open("/overview");
    expect(await send(owner, [{ id: "createGroup", ...group }])).toEqual(["createGroup 201"]);
    await owner.leave();
  });

  test.each([
    [1280, "light"],
    [768, "dark"],
    [360, "light"],
  ] as const)("reads the main pages at %i pixels, in the %s theme", async (width, theme) => {
    const visit = await given.visitAsAuditor({ width, theme });
    const { page } = visit;
    const ids = {
      policy: await given.idOf("policies", "Engineering tools"),
      resource: await given.idOf("resources", "Source code"),
      rule: (await given.client.get("/tenants/admission-rules")).body.find(
        ({ name }: { readonly name: string }) => name === "Office hours",
      ).id,
      user: (await given.client.get("/tenants/users?filter[email]=engineer-01@example.com")).body.data[0].id,
      event: (await given.client.get("/tenants/events?filter[operation]=createPolicy&limit=1")).body.data[0].id,
    };
    const wide: string[] = [];
    for (const [name, at] of [
      ["overview", "/overview"],
      ["users", "/users"],
      ["policies", "/policies"],
      ["policy", `/policies/${ids.policy}`],
      ["resource", `/resources/${ids.resource}`],
      ["rule", `/admission-rules/${ids.rule}`],
      ["access", `/access?user=${ids.user}&resource=${ids.resource}`],
      ["access-tests", "/access-tests"],
      ["roles", "/roles"],
      ["event", `/events/${ids.event}`],
    ] as const) {
      await visit.open(at);
      await page.locator("h1").waitFor();
      await isQuiet(visit);
      await picture(page, `auditor-${name}-${width}`);
      expect(await accessibilityProblems(page), name).toEqual([]);
      const excess = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (excess > 0) wide.push(`${name} by ${excess}`);
    }
    expect(wide).toEqual([]);
    await visit.leave();
  });
});
