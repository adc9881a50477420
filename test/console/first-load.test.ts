/** The size and the completeness of the console's first load. */
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { hasBrowser, signIn } from "./console-world.ts";
import { heading, storyWorld, warnIfSkipped } from "./story-world.ts";

warnIfSkipped();

describe.runIf(hasBrowser)("the console", () => {
  const given = storyWorld();

  test("loads at most 100 kB to sign in and 260 kB for the overview, and each page's own code when it is shown", async () => {
    const visit = await given.world.visit({ fresh: true });
    const { page } = visit;
    const sizes = new Map<string, number>();
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (/\.(?:js|css|woff2)$/.test(pathname)) sizes.set(pathname, Number(response.headers()["content-length"]));
    });
    const loaded = () => [...sizes.values()].reduce((sum, size) => sum + size, 0);
    await visit.open("/");
    await heading(visit, "Sign in to Gatehouse").waitFor();
    expect(loaded()).toBeGreaterThan(50_000);
    expect(loaded()).toBeLessThanOrEqual(100_000);
    await signIn(page, given.owner);
    await page.getByRole("region", { name: "Gateways" }).getByRole("table").waitFor();
    expect(loaded()).toBeLessThanOrEqual(260_000);
    expect([...sizes.keys()].filter((name) => name.endsWith(".woff2"))).toEqual([expect.stringContaining("/inter-")]);
    expect([...sizes.keys()].filter((name) => /events\.page|gateway\.page|rule-text/.test(name))).toEqual([]);
    await visit.leave();
  });

  test("has the styles of all components of the library that it contains", async () => {
    const assets = fileURLToPath(new URL("../../packages/console/dist/assets/", import.meta.url));
    const read = async (ending: string) => {
      const names = (await readdir(assets)).filter((name) => name.endsWith(ending));
      return (await Promise.all(names.map((name) => readFile(`${assets}${name}`, "utf8")))).join("\n");
    };
    // The library derives the names of its classes from those of its components.
    const classesIn = (text: string) => new Set(text.match(/\bm_[0-9a-f]{6,8}\b/g));
    const complete = classesIn(
      await readFile(createRequire(`${assets}../../package.json`).resolve("@mantine/core/styles.css"), "utf8"),
    );
    const [used, styled] = [classesIn(await read(".js")), classesIn(await read(".css"))];
    expect(used.size).toBeGreaterThan(100);
    expect([...used].filter((name) => complete.has(name) && !styled.has(name))).toEqual([]);
  });
});
