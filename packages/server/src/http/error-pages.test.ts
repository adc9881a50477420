import { fileURLToPath } from "node:url";
import { errorCodes, errorDefinitions } from "@gatehouse/contract/errors";
import { describe, expect, test } from "vitest";
import { errorsMarkdown } from "../testing/errors-markdown.ts";
import { errorIndex, errorPage } from "./error-pages.ts";

const file = fileURLToPath(new URL("../../../../docs/errors.md", import.meta.url));

test("docs/errors.md matches the error definitions; `npx vitest run` with `-u` updates it", async () => {
  await expect(errorsMarkdown()).toMatchFileSnapshot(file);
});

describe("the served error pages", () => {
  test.each(errorCodes)("explain when %s happens and what to do", (code) => {
    const { title, status } = errorDefinitions[code];
    const page = errorPage(code);
    for (const part of [title.replaceAll("&", "&amp;"), String(status), "When it happens", "What to do"]) {
      expect(page).toContain(part);
    }
    expect(page, "unclosed code markup").not.toContain("`");
    expect(errorIndex()).toContain(`href="/errors/${code}"`);
  });
});
