/** Checks that each package exports its public modules by name, so that the others can change freely. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./run-tool.ts";

interface Manifest {
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const packages = readdirSync(path.join(root, "packages")).map((name) => {
  const { exports = {} }: Manifest = JSON.parse(
    readFileSync(path.join(root, "packages", name, "package.json"), "utf8"),
  );
  return { name, entries: Object.entries(exports) };
});

/** Folders whose modules are all public. */
const publicFolders: Readonly<Record<string, readonly string[]>> = {
  contract: ["./operations/*", "./records/*"],
  server: ["./testing/*"],
};

describe("the exports of", () => {
  test.each(packages)("$name are modules of the public API", ({ name, entries }) => {
    const patterns = entries.map(([subpath]) => subpath).filter((subpath) => subpath.includes("*"));
    expect(patterns).toEqual(publicFolders[name] ?? []);
    for (const [subpath, { "gatehouse-source": source = "", types, default: built }] of entries) {
      const file = path.join(root, "packages", name, source.replace("/*.ts", ""));
      expect(existsSync(file), `${subpath} leads to ${source}`).toBe(true);
      const stem = source.replace(/^\.\/src\//, "").replace(/\.ts$/, "");
      expect([types, built], subpath).toEqual([`./dist/${stem}.d.ts`, `./dist/${stem}.js`]);
    }
  });
});
