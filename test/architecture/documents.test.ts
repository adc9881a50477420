import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
});
const files = listed.split("\n").filter((path) => path !== "" && existsSync(join(root, path)));
const pages = files.filter((path) => path.endsWith(".md"));
const scripts = Object.keys(JSON.parse(read("package.json")).scripts as object);

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
}

/** The anchors that GitHub derives from a page's headings, and explicit ones. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = [...markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  const explicit = [...markdown.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id);
  return new Set([...headings, ...explicit]);
}

/** Returns the links of a page to files or anchors that do not exist in the repository. */
function brokenLinks(page: string, markdown: string): string[] {
  const targets = [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map(
    ([, link, attribute]) => link ?? attribute ?? "",
  );
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && file.endsWith(".md") && !anchorsOf(read(file)).has(anchor);
  });
}

/** Folders whose paths documents abbreviate, without the leading `packages/server/src/`. */
const serverFolders = ["features", "http", "platform", "agents", "tasks", "demo", "migrations"];

/** Paths in backticks that name no file or folder. Paths with placeholders (`<noun>`, `…`) are not checked. */
function missingPaths(markdown: string): string[] {
  const quoted = [...markdown.matchAll(/`([\w.@*-]+(?:\/[\w.@*-]+)*\/?)`/g)].map(([, path = ""]) => path);
  return quoted.filter((path) => {
    const [first = ""] = path.split("/");
    if (/widgets?\b/.test(path)) return false; // the example of CONTRIBUTING.md
    if (/^http\/(protobuf|json)$/.test(path)) return false; // protocols of OpenTelemetry
    if (path.includes("/") && ["packages", "docs", "test", "bench", ".ci"].includes(first)) return !names(path);
    if (path.includes("/") && serverFolders.includes(first)) return !names(`packages/server/src/${path}`);
    return /[\w-]\.(ts|tsx|mjs)$/.test(path) && !names(path, "(?:.*/)?");
  });
}

function names(path: string, prefix = ""): boolean {
  const pattern = new RegExp(
    `^${prefix}${path
      .replace(/\/$/, "")
      .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", "[^/]*")}(/|$)`,
  );
  return files.some((file) => pattern.test(file));
}

function unknownScripts(markdown: string): string[] {
  const used = [...markdown.matchAll(/npm run (?:-\w+ |--\w+ )*([\w:-]+)(?![^\n`]* -w )/g)].map(
    ([, name = ""]) => name,
  );
  return used.filter((name) => !scripts.includes(name));
}

describe.each(pages)("%s", (page) => {
  const markdown = read(page);

  test("links, paths and npm scripts exist", () => {
    expect({
      links: brokenLinks(page, markdown),
      paths: missingPaths(markdown),
      scripts: unknownScripts(markdown),
    }).toEqual({ links: [], paths: [], scripts: [] });
  });
});

test("broken links, missing paths and unknown npm scripts are found", () => {
  const broken = "[a](nowhere.md) [b](#no-such-heading) [c](docs/glossary.md)";
  expect(brokenLinks("README.md", broken)).toEqual(["nowhere.md", "#no-such-heading"]);
  const missing = "`packages/nothing/src` `platform/nothing.ts` `nothing.ts`";
  expect(missingPaths(missing)).toEqual(["packages/nothing/src", "platform/nothing.ts", "nothing.ts"]);
  expect(missingPaths("`packages/server/src/config.ts` `docs/*.md` `text/plain` `config.ts` `*.api.ts`")).toEqual([]);
  expect(unknownScripts("`npm run nothing` and `npm run build`")).toEqual(["nothing"]);
});

/** Returns the rows of decision records below each heading of the index. */
function indexGroups(markdown: string): ReadonlyMap<string, readonly string[]> {
  const sections = markdown.split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return [heading, lines.filter((line) => line.startsWith("| ["))];
    }),
  );
}

describe("the index of decision records", () => {
  const index = read("docs/decisions/README.md");
  const groups = [...indexGroups(index)].filter(([, rows]) => rows.length > 0);

  test("lists each record once, with its title, status and date", () => {
    const records = files.filter((path) => /^docs\/decisions\/\d{4}-.*\.md$/.test(path)).toSorted();
    const expected = records.map((path) => {
      const [, number, title, status, date] =
        /^# (\d{4}): (.+)\n\n- Status: (Accepted|Superseded by \d{4})\n- Date: (\d{4}-\d\d-\d\d)\n/.exec(read(path)) ??
        [];
      return `| [${number}](${path.replace("docs/decisions/", "")}) | ${title} | ${status} | ${date} |`;
    });
    expect(groups.flatMap(([, rows]) => rows).toSorted()).toEqual(expected);
  });

  test.each(groups)("the group %s is sorted by number", (_heading, rows) => {
    expect(rows).toEqual(rows.toSorted());
  });

  test("links to every group, in order", () => {
    const links = [...index.matchAll(/^- \[(.+)\]\(#.+\)$/gm)].map(([, heading]) => heading);
    expect(links).toEqual(groups.map(([heading]) => heading));
  });

  test("recommends records that are accepted", () => {
    const [, recommended = ""] = index.split(/^## /m);
    const names = [...recommended.matchAll(/^- \[\d{4}\]\((.+)\): /gm)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !read(`docs/decisions/${name}`).includes("\n- Status: Accepted\n"))).toEqual([]);
  });
});
