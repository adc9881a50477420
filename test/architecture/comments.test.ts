import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { checkedFiles, findings } from "../../tools/comments.mjs";

test.each([
  ["/** What gateways enforce. */", "opening"],
  ["/**\n * Those that are there.\n */", "opening"],
  ["// Where it fails, nothing happens.", "opening"],
  [`// ${"long ".repeat(30)}`, "length"],
  ["/* In a narrow panel, rows are blocks. */\n.rows {\n}", "opening"],
  [`.rows {\n  /* ${"long ".repeat(30)} */\n}`, "length"],
])("%s is found", (source, problem) => {
  expect(findings(source).map((finding) => finding.problem)).toEqual([problem]);
});

test.each([
  "/** The configurations that gateways enforce. */",
  "/** Whether the gateway is in service. */",
  "// A sentence that goes on\n// In the next line.",
  "/**\n * Returns the gateways.\n * For each, the newest.\n */",
  'const text = "// What is this?";',
  "/* Rows of a narrow panel are blocks. */\n.rows {\n  margin: 0;\n}",
])("%s is accepted", (source) => {
  expect(findings(source)).toEqual([]);
});

test("style sheets are checked as well as code", () => {
  const listed = execFileSync("git", ["ls-files", ...checkedFiles], { encoding: "utf8" }).split("\n");
  expect(listed).toContain("packages/console/src/app/tokens.css");
  expect(listed).toContain("tools/comments.mjs");
});
