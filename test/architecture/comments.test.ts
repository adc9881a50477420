import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { findings } from "./comments.ts";
import { root } from "./run-tool.ts";

const sources = execFileSync("git", ["ls-files", "*.ts", "*.tsx", "*.mjs"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && !file.includes("/generated/"));

test("every comment begins with a noun phrase or a sentence, and fits into a line", () => {
  const found = sources.flatMap((file) =>
    findings(readFileSync(path.join(root, file), "utf8")).map(({ line, problem }) => `${file}:${line} ${problem}`),
  );
  expect(sources.length).toBeGreaterThan(500);
  expect(found).toEqual([]);
});

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
