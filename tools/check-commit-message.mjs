/**
 * Checks commit messages: `node tools/check-commit-message.mjs FILE` for the file that the Git hook passes, and
 * `node tools/check-commit-message.mjs --range main..HEAD` for commits of the repository in the current folder.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { commitProblems } from "./commit-messages.mjs";

const [first, range] = process.argv.slice(2);
if (first === undefined || (first === "--range" && range === undefined)) {
  console.error("Pass the file with the message, or --range FROM..TO.");
  process.exit(2);
}

/** @type {readonly { name: string, message: string }[]} */
const messages =
  first === "--range"
    ? execFileSync("git", ["log", "--no-merges", "--format=%h%n%B%x00", range], { encoding: "utf8" })
        .split("\0")
        .map((entry) => entry.trim())
        .filter((entry) => entry !== "")
        .map((entry) => ({
          name: entry.slice(0, entry.indexOf("\n")),
          message: entry.slice(entry.indexOf("\n") + 1),
        }))
    : [{ name: "The commit message", message: readFileSync(first, "utf8") }];

for (const { name, message } of messages) {
  for (const problem of commitProblems(message)) {
    console.error(`${name}: ${problem}`);
    process.exitCode = 1;
  }
}
if (process.exitCode === 1) console.error("CONTRIBUTING.md describes the form.");
