import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { errorCodes, errorDefinitions } from "@gatehouse/contract/errors";
import { describe, expect, test } from "vitest";
import { errorIndex, errorIndexMarkdown, errorMarkdown, errorPage } from "./error-pages.ts";

const folder = fileURLToPath(new URL("../../../../docs/errors/", import.meta.url));

/** Where one of these fails: `npx vitest run packages/server/src/http/error-pages.test.ts -u` writes the pages anew. */
describe("docs/errors", () => {
  test.each(errorCodes)("has the page of %s", async (code) => {
    await expect(errorMarkdown(code)).toMatchFileSnapshot(`${folder}${code}.md`);
  });

  test("has an index", async () => {
    await expect(errorIndexMarkdown()).toMatchFileSnapshot(`${folder}README.md`);
  });

  test("has no page of a code that is gone", async () => {
    const known = new Set(["README.md", ...errorCodes.map((code) => `${code}.md`)]);
    expect((await readdir(folder)).filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("the pages that are served", () => {
  test.each(errorCodes)("say of %s when it happens and what to do", (code) => {
    const { title, status } = errorDefinitions[code];
    const page = errorPage(code);
    for (const part of [title.replaceAll("&", "&amp;"), String(status), "When it happens", "What to do"]) {
      expect(page).toContain(part);
    }
    expect(page, "markup of code that was left open").not.toContain("`");
    expect(errorIndex()).toContain(`href="/errors/${code}"`);
  });
});
