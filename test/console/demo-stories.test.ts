/** Demo mode: anyone signs in as an example person, and every page says so. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessibilityProblems, type ConsoleWorld, hasBrowser, openConsoleWorld } from "./console-world.ts";
import { warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

const people = ["operator-01@example.com", "accountant-01@example.com", "engineer-01@example.com"] as const;
const notice = "Anyone who can open this page can sign in as the example people. Do not enter real data.";

describe.runIf(hasBrowser)("demo mode", () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await openConsoleWorld({ demoPeople: people });
  });
  afterAll(() => world?.close());

  test.each([
    ["an administrator", people[0], ["/overview", "/users", "/settings", "/my/"]],
    ["an auditor", people[1], ["/overview", "/events"]],
    ["a person without roles", people[2], ["/my/"]],
  ])("marks every page of %s", async (_who, email, paths) => {
    const visit = await world.visit({ publicly: true });
    const { page } = visit;
    await visit.open("/");
    await page.getByText(notice).waitFor();
    const buttons = page.getByRole("region", { name: "Demo" }).getByRole("button");
    await expect.poll(() => buttons.count()).toBe(people.length);
    await page.getByRole("button", { name: new RegExp(email) }).click();
    await page.getByRole("button", { name: "Account" }).waitFor();
    for (const path of [...paths, "/authorize?client_id=unknown", "/code", "/enrol"]) {
      if (path.startsWith("/authorize")) visit.expectFailures(400);
      await visit.open(path);
      await page.getByText(notice).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
    }
    await visit.leave();
  });
});
