import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkedFiles } from "../../tools/comments.mjs";

const root = new URL("../../", import.meta.url);
const mostLines = 500;

/** Returns the files that architecture.md demands to split. Nobody reads or edits generated files. */
function tooLong(files: Iterable<readonly [path: string, text: string]>): readonly string[] {
  return [...files].flatMap(([path, text]) => {
    const lines = text.split("\n").length - 1;
    return lines > mostLines && !path.includes("/generated/") ? [`${path} has ${lines} lines`] : [];
  });
}

const lines = (count: number) => "const x = 1;\n".repeat(count);

test.each([
  ["a file of 500 lines", "packages/server/src/a.ts", 500, []],
  ["a longer one", "packages/server/src/a.ts", 501, ["packages/server/src/a.ts has 501 lines"]],
  ["a longer test", "test/console/a.test.ts", 501, ["test/console/a.test.ts has 501 lines"]],
  ["a longer style sheet", "packages/console/src/app/a.css", 501, ["packages/console/src/app/a.css has 501 lines"]],
  ["a longer generated file", "packages/client/src/generated/api.ts", 501, []],
])("finds what must be split: %s", (_, path, count, found) => {
  expect(tooLong([[path, lines(count)]])).toEqual(found);
});

test("no file of code, tests or styles has more than 500 lines", () => {
  const listed = execFileSync("git", ["ls-files", "-z", ...checkedFiles], { cwd: root, encoding: "utf8" });
  const paths = listed.split("\0").filter((path) => path !== "" && existsSync(new URL(path, root)));
  expect(paths.length).toBeGreaterThan(1_000);
  expect(tooLong(paths.map((path) => [path, readFileSync(new URL(path, root), "utf8")]))).toEqual([]);
});
