import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { releaseVersion } from "../release.ts";
import { checkVersion } from "./check-version.ts";
import { cutChangelog } from "./cut-changelog.ts";
import { setVersion } from "./set-version.ts";

const workspace = fileURLToPath(new URL("../../../", import.meta.url));

describe("setting the version", () => {
  test("changes every file that states it, and only the version", async () => {
    const previous = await releaseVersion(workspace);
    const next = "9.8.7";
    const copy = await mkdtemp(path.join(tmpdir(), "gatehouse-release-"));
    onTestFinished(() => rm(copy, { recursive: true }));
    // History and tests state versions that a release does not change.
    const stating = execFileSync("git", ["grep", "-l", "--untracked", "--fixed-strings", previous], {
      cwd: workspace,
      encoding: "utf8",
    })
      .trim()
      .split("\n")
      .filter((file) => !/\.test\.ts$|^CHANGELOG\.md$|^docs\/decisions\/|\/testing\/|^test\//.test(file));
    for (const file of stating) await cp(path.join(workspace, file), path.join(copy, file));

    const changed = await setVersion(copy, previous, next);

    for (const file of changed) {
      const [before, after] = await Promise.all(
        [workspace, copy].map((root) => readFile(path.join(root, file), "utf8")),
      );
      expect(after, file).not.toBe(before);
      const restored = after?.replaceAll(next, previous);
      expect(file.endsWith("package-lock.json") ? JSON.parse(restored ?? "") : restored, file).toEqual(
        file.endsWith("package-lock.json") ? JSON.parse(before ?? "") : before,
      );
    }
    const stale = new RegExp(
      `(ersion["']?[:=] *["']?|gatehouse(-gateway)?:)${previous.replaceAll(".", "\\.")}\\b`,
      "i",
    );
    const forgotten: string[] = [];
    for (const file of stating.filter((each) => !changed.includes(each))) {
      if (stale.test(await readFile(path.join(workspace, file), "utf8"))) forgotten.push(file);
    }
    expect(forgotten).toEqual([]);
  });

  test("writes nothing if a file states another version", async () => {
    await expect(setVersion(workspace, "7.7.7", "9.8.7")).rejects.toThrow("does not contain");
  });
});

test.each([
  ["0.1.0", "0.1.1"],
  ["0.9.9", "0.10.0"],
  ["1.9.9", "2.0.0"],
])("a release can follow %s with %s", (previous, next) => {
  expect(() => checkVersion(previous, next)).not.toThrow();
});

test.each([
  ["0.1.0", "0.1.0", "is not higher"],
  ["0.10.0", "0.9.0", "is not higher"],
  ["1.0.0", "0.9.9", "is not higher"],
  ["0.1.0", "v0.2.0", "is not a version"],
  ["0.1.0", "0.2", "is not a version"],
  ["0.1.0", "0.2.0-rc.1", "is not a version"],
])("no release follows %s with %s", (previous, next, message) => {
  expect(() => checkVersion(previous, next)).toThrow(message);
});

test("the changelog keeps an empty section for the next release", () => {
  const text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n";
  expect(cutChangelog(text, "0.2.0", "2026-02-03")).toBe(
    "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n",
  );
  expect(() => cutChangelog(text.replace("- One.\n", ""), "0.2.0", "2026-02-03")).toThrow("lists no change");
  expect(() => cutChangelog("# Changelog\n", "0.2.0", "2026-02-03")).toThrow("no section Unreleased");
});
