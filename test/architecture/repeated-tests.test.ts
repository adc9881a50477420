/** CI runs failed tests again, except properties, and lists those that then pass (docs/decisions/0177). */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "./run-tool.ts";

const tests = `
let unsteady = 0;
test("unsteady", () => expect(++unsteady).toBe(2));
test("broken", () => expect(1).toBe(2));
let random = 0;
test("random", () => { random += 1; if (random === 1) throw new Error("Property failed after 3 tests"); });
test("sound", () => {});
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-repeated-"));
  await writeFile(path.join(folder, "some.test.mjs"), tests);
  const settings = `import { RepeatedTests, retry } from ${JSON.stringify(path.join(root, "test/repeated-tests.ts"))};
export default { test: { globals: true, retry, reporters: [new RepeatedTests(), ["json", { outputFile: "report.json" }]] } };
`;
  await writeFile(path.join(folder, "vitest.config.mjs"), settings);
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs the tests. Returns those that passed, and everything printed. */
async function run(retries?: string) {
  const { GATEHOUSE_TEST_RETRIES: _, ...env } = process.env;
  const own = retries === undefined ? env : { ...env, GATEHOUSE_TEST_RETRIES: retries };
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [vitest, "run"], { cwd: folder, env: own }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  const { testResults } = JSON.parse(await readFile(path.join(folder, "report.json"), "utf8"));
  const [{ assertionResults }] = testResults;
  const passed = assertionResults.filter(({ status }: { status: string }) => status === "passed");
  return { printed, passed: passed.map(({ title }: { title: string }) => title) };
}

test("a failed test runs again if CI says so, unless it is a property", async () => {
  const { printed, passed } = await run("2");
  expect(passed).toEqual(["unsteady", "sound"]);
  expect(printed).toContain("Failed, then passed: some.test.mjs > unsteady");
  expect(printed).not.toContain("passed: some.test.mjs > sound");
});

test("elsewhere, a failed test has failed", async () => {
  const { printed, passed } = await run();
  expect(passed).toEqual(["sound"]);
  expect(printed).not.toContain("Failed, then passed");
});
