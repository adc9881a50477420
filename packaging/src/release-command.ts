/** `npm run release -- X.Y.Z`: from a clean tree to a tagged commit and its packages. */
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { packageHelp, readPackageOptions } from "./package-options.ts";
import { checkVersion } from "./release/check-version.ts";
import { cutChangelog } from "./release/cut-changelog.ts";
import { setVersion } from "./release/set-version.ts";
import { releaseTime, releaseVersion } from "./release.ts";
import { runProgram } from "./run-program.ts";

const workspace = fileURLToPath(new URL("../../", import.meta.url));

const help = `Usage: npm run release -- X.Y.Z [options of npm run package]

Checks the options and that nothing is uncommitted, sets the version, cuts the section of CHANGELOG.md, runs npm run check, commits,
tags vX.Y.Z, and builds the packages. It pushes nothing. If a check fails, the changed files stay for inspection.
`;

const [version = "--help", ...packageOptions] = process.argv.slice(2);
if (version === "--help") process.stdout.write(help);
else {
  await release(version).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  });
}

async function release(next: string): Promise<void> {
  const previous = await releaseVersion(workspace);
  checkVersion(previous, next);
  // A build that fails after the tag would need both to be undone.
  if ((await readPackageOptions(packageOptions, workspace)) === "help") return void process.stdout.write(packageHelp);
  await releaseTime(workspace);
  const git = (...args: readonly string[]) => runProgram("git", args, { cwd: workspace });
  const uncommitted = await git("status", "--porcelain");
  if (uncommitted !== "") throw new Error(`Commit or remove these files first:\n${uncommitted}`);
  const tag = `v${next}`;
  if ((await git("tag", "--list", tag)) !== "") throw new Error(`The tag ${tag} exists.`);
  const changelog = path.join(workspace, "CHANGELOG.md");
  const date = new Date().toISOString().slice(0, 10);
  const cut = cutChangelog(await readFile(changelog, "utf8"), next, date);
  const files = await setVersion(workspace, previous, next);
  await writeFile(changelog, cut);
  run("npm", "run", "check");
  await git("add", "CHANGELOG.md", ...files);
  const body = "Sets the version of all packages, and cuts the section of the changelog.";
  await git("commit", "--quiet", "--message", `release: version ${next}`, "--message", body);
  await git("tag", "--annotate", tag, "--message", `Gatehouse ${next}`);
  run("npm", "run", "package", "--", ...packageOptions);
  console.log(`Released ${next}. To publish: git push origin HEAD ${tag}`);
}

/** Runs a command, with its output on this terminal. @throws Error if it fails */
function run(program: string, ...args: readonly string[]): void {
  const { status } = spawnSync(program, args, { cwd: workspace, stdio: "inherit" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed.`);
}
