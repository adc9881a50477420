import { expect, test } from "vitest";
import { findings } from "../../tools/comments.mjs";

test.each([
  ["/** What gateways enforce. */", "opening"],
  ["/**\n * Those that are there.\n */", "opening"],
  ["// Where it fails, nothing happens.", "opening"],
  [`// ${"long ".repeat(30)}`, "length"],
])("%s is found", (source, problem) => {
  expect(findings(source).map((finding) => finding.problem)).toEqual([problem]);
});

test.each([
  "/** The configurations that gateways enforce. */",
  "/** Whether the gateway is in service. */",
  "// A sentence that goes on\n// In the next line.",
  "/**\n * Returns the gateways.\n * For each, the newest.\n */",
  'const text = "// What is this?";',
])("%s is accepted", (source) => {
  expect(findings(source)).toEqual([]);
});
