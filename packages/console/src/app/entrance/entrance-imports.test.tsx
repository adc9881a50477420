import { expect, test } from "vitest";

const found = import.meta.glob<string>("../../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
/** The sources by their paths below `src`. */
const sources = new Map(
  Object.entries(found).map(([path, source]) => [new URL(path, "file:///app/entrance/").pathname.slice(1), source]),
);

/** Imports that exist at run time. */
const staticImport = /^(?:import|export) (?!type\b)(?:[^"']*? from )?"([^"]+)"/gm;

function read(path: string): string {
  const source = sources.get(path);
  if (source === undefined) throw new Error(`Unknown source ${path}.`);
  return source;
}

/** Packages that a module loads, also through other modules of the console. */
function packagesOf(entry: string): ReadonlySet<string> {
  const packages = new Set<string>();
  const modules = [entry];
  for (const path of modules) {
    for (const [, target = ""] of read(path).matchAll(staticImport)) {
      if (!target.startsWith(".")) packages.add(target);
      else if (/\.tsx?$/.test(target)) {
        const next = new URL(target, `file:///${path}`).pathname.slice(1);
        if (!modules.includes(next)) modules.push(next);
      }
    }
  }
  return packages;
}

test("the sign-in page loads React and the errors of the client, and nothing else", () => {
  expect([...packagesOf("main.tsx")].sort()).toEqual(["@gatehouse/client/errors", "react", "react-dom/client"]);
});

test("the console is found to load more", () => {
  expect(packagesOf("console-entry.tsx")).toContain("@mantine/core");
});
