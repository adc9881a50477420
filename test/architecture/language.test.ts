/** Proves that the checks of text and of commit messages fire. `npm run check` applies them to all text. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commitProblems } from "../../tools/commit-messages.mjs";
import { root } from "./run-tool.ts";

interface Result {
  readonly code: number;
  readonly output: string;
}

function run(command: string, options: readonly string[], cwd = root): Promise<Result> {
  return new Promise((resolve) => {
    execFile(command, options, { cwd }, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : 1;
      resolve({ code, output: stdout + stderr });
    });
  });
}

const checkProse = (...files: string[]) => run(process.execPath, [path.join(root, "tools/check-prose.mjs"), ...files]);
const checkCommits = (...options: string[]) =>
  run(process.execPath, [path.join(root, "tools/check-commit-message.mjs"), ...options], folder);

let folder: string;
/** Findings in the fixtures, checked in one run. */
let found: Result;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-language-"));
  const fixtures = [...brokenTexts, ...fineTexts].map(([name, text]) => ({ file: path.join(folder, name), text }));
  await Promise.all(fixtures.map(({ file, text }) => writeFile(file, text)));
  found = await checkProse(...fixtures.map(({ file }) => file));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const words = (count: number) => Array.from({ length: count }, () => "word").join(" ");

/** Each text is a separate file. A finding names the line and the rule. */
const brokenTexts: readonly (readonly [name: string, text: string, finding: string])[] = [
  ["word.md", "# Title\n\nThe agent connects anew.", ':3 terminology: "anew": write again'],
  ["words.md", "The state is looked\nafter by a task.", ':1 terminology: "looked after": write reconcile'],
  ["item.md", "- The server is told about it.", ':1 terminology: "told": write notify'],
  ["cell.md", "| a |\n|---|\n| Wireguard |", ':3 terminology: "Wireguard": write WireGuard.'],
  ["no.md", "This is no address.", ':1 terminology: "is no": write is not a'],
  ["sentence.md", `Short. ${words(26)}.`, ":1 sentence-length: A sentence of 26 words"],
  ["line.md", `${"long ".repeat(23)}\nend. ${"long ".repeat(24)}`, ":2 line-length: A line of 12"],
  [
    "catalogue.ts",
    'export const page = {\n  told: "All is well.",\n  hint: "Enter the key anew.",\n};',
    ':3 terminology: "anew"',
  ],
  ["long.ts", `export const page = { hint: "${words(26)}." };`, ":1 sentence-length: A sentence of 26 words"],
];

test.each(brokenTexts)("%s is reported", (name, _text, finding) => {
  expect(found.output).toContain(`/${name}${finding}`);
  expect(found.code).toBe(1);
});

const fineTexts: readonly (readonly [name: string, text: string])[] = [
  ["code-only.md", "The column `told` and\n\n```\nanew\n```\n"],
  ["link.md", `See [the page](https://example.com/${"long".repeat(30)}/anew.html).`],
  ["sentences.md", `${words(20)}\n${words(5)}.\n${words(20)}\n${words(5)}.`],
  ["none.md", "There is no gateway, and the token is no longer valid."],
  ["names-only.ts", 'export const page = { anew: "Again", told: { lane: "Policy chain" } };'],
  ["neighbours.ts", `export const page = {\n  a: "${words(15)}",\n  b: "${words(15)}",\n};`],
];

test.each(fineTexts)("%s is accepted", (name) => {
  expect(found.output).not.toContain(`/${name}`);
});

const body = "\n\nA reason.\n";
const messages: readonly (readonly [message: string, problem: string | undefined])[] = [
  [`agents: resend the full configuration after a hash mismatch${body}`, undefined],
  [`agents, policy: compress frames${body}# A comment of Git.\n`, undefined],
  ["Merge branch 'main' into tools\n", undefined],
  ['Revert "docs: add a page"\n\nThis reverts commit 0123456.\n', undefined],
  [`Resend the configuration${body}`, "has no area"],
  [`Agents: resend the configuration${body}`, "has no area"],
  [`agents: ${"resend ".repeat(10)}it${body}`, "Use at most 72"],
  [`agents: Resend the configuration${body}`, "begins with a capital letter"],
  [`agents: resent, then added${body}`, undefined],
  [`agents: added a retry${body}`, 'begins with "added"'],
  [`agents: adding a retry${body}`, 'begins with "adding"'],
  [`agents: adds a retry${body}`, 'begins with "adds"'],
  [`agents: add a retry.${body}`, "ends with a full stop"],
  ["agents: add a retry\n", "The body is missing"],
  ["agents: add a retry\n\n# Only a comment.\n", "The body is missing"],
  ["agents: add a retry\nA reason.\n\nMore.\n", "The second line is not empty"],
];

describe("the check of a commit message", () => {
  test.each(messages)("%j", (message, problem) => {
    expect(commitProblems(message)).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
  });

  test("reports the commits of a range, and the hook refuses a commit", async () => {
    const git = (...options: string[]) =>
      run("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", ...options], folder);
    const commit = (message: string) => git("commit", "--quiet", "--allow-empty", "-m", message);
    await git("init", "--quiet");
    for (const message of [`docs: start${body}`, "Start.", `docs: add a page${body}`, "more stuff"]) {
      expect(await commit(message)).toEqual({ code: 0, output: "" });
    }
    expect(await checkCommits("--range", "HEAD~2..HEAD~1")).toEqual({ code: 0, output: "" });
    const { code, output } = await checkCommits("--range", "HEAD~3..HEAD");
    expect(code).toBe(1);
    expect(output).toContain('The subject "Start." has no area.');
    expect(output).toContain('The subject "more stuff" has no area.');
    expect(output).not.toContain("add a page");

    const hook = path.join(root, ".githooks/commit-msg");
    await writeFile(path.join(folder, "message"), "more stuff\n");
    const refused = await run(hook, [path.join(folder, "message")]);
    expect(refused).toEqual({ code: 1, output: expect.stringContaining("has no area") });
  });
});
