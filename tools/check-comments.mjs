/** Checks the comments of all sources: `node tools/check-comments.mjs`. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { checkedFiles, findings, longestLine } from "./comments.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", ...checkedFiles];
const explanations = {
  opening: "begins with a fragment. Write a noun phrase or a sentence.",
  length: `is longer than ${longestLine} characters`,
};

let problems = 0;
for (const file of execFileSync("git", listed, { cwd: root, encoding: "utf8" }).split("\0")) {
  if (file === "" || file.includes("/generated/") || !existsSync(root + file)) continue;
  for (const { line, problem } of findings(readFileSync(root + file, "utf8"))) {
    problems += 1;
    console.log(`${file}:${line} comment ${explanations[problem]}`);
  }
}
if (problems > 0) process.exitCode = 1;
