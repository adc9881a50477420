/** Lints documents and the console's catalogue: `node tools/check-prose.mjs [FILE…]`. Without files, all of them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lintProse } from "./prose.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const everything = ["*.md", "packages/console/src/messages/en/*.ts"];

const given = process.argv.slice(2);
const files =
  given.length > 0
    ? given
    : execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", ...everything], {
        cwd: root,
        encoding: "utf8",
      })
        .split("\0")
        .filter((file) => file !== "")
        .map((file) => root + file);

let problems = 0;
for (const file of files) {
  for (const { line, rule, message } of await lintProse(file, readFileSync(file, "utf8"))) {
    problems += 1;
    console.log(`${file.replace(root, "")}:${line} ${rule}: ${message}`);
  }
}
if (problems > 0) {
  console.log(`\n${problems} problems in ${files.length} files. docs/glossary.md lists the terms.`);
  process.exitCode = 1;
}
