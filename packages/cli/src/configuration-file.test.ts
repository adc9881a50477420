import { configurationLimitBytes } from "@gatehouse/contract/records/configuration";
import { describe, expect, test } from "vitest";
import { configurationText, parseConfiguration } from "./configuration-file.ts";
import { CommandFailure } from "./failure.ts";

const parse = (text: string) => parseConfiguration("file.yaml", text);

/** The error message for a text that is rejected. */
function rejection(text: string): string {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof CommandFailure) return [error.message, ...error.details].join("\n");
    throw error;
  }
  return "";
}

describe("a configuration file", () => {
  test("is YAML 1.2: no, on, off and dates are strings", () => {
    const { document } = parse("version: 1\ngroups: [no, on, off, y, 2030-01-31, 0o17, 1_000, true]\n");
    expect(document).toEqual({ version: 1, groups: ["no", "on", "off", "y", "2030-01-31", 15, "1_000", true] });
  });

  test("can use anchors", () => {
    const { document } = parse("version: 1\ngroups:\n  - &a {name: A}\n  - *a\n");
    expect(document).toMatchObject({ groups: [{ name: "A" }, { name: "A" }] });
  });

  test("accepts any name as a key", () => {
    const { document } = parse("version: 1\n__proto__: {polluted: 1}\nconstructor: 2\n");
    expect(Object.keys(document)).toEqual(["version", "__proto__", "constructor"]);
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("parsing rejects", () => {
  test.each([
    ["a list that does not end", "version: 1\ngroups: [\n", /file\.yaml:3:1 {2}.*\]/],
    ["a duplicate key", "version: 1\ngroups: []\ngroups: []\n", /file\.yaml:3:1 {2}Map keys must be unique/],
    ["tabs for indentation", "version: 1\ngroups:\n\t- name: A\n", /file\.yaml:3:\d+ /],
    ["a second document", "version: 1\n---\nversion: 1\n", /file\.yaml:2:1 /],
    ["an unknown tag", "version: !!js/function 'x'\n", /file\.yaml:1:10 {2}Unresolved tag/],
    ["an alias without an anchor", "version: *one\n", /file\.yaml/],
    ["a list", "- version: 1\n", /file\.yaml:1:1 {2}the document must be a mapping/],
    ["nothing", "", /file\.yaml:1:1 {2}the document must be a mapping/],
    ["a deep nest", "[".repeat(20_000), /nesting exceeds 100 levels/],
    ["a deep nest of lists", "- ".repeat(20_000), /nesting exceeds 100 levels/],
  ])("%s, with its position", (_what, text, expected) => {
    expect(rejection(text)).toMatch(/^file\.yaml is not a configuration in YAML\.\n/);
    expect(rejection(text)).toMatch(expected);
  });

  test("aliases that multiply, before they exhaust the memory", () => {
    const levels = Array.from({ length: 12 }, (_, level) =>
      level === 0
        ? "a0: &a0 [x, x]"
        : `a${level}: &a${level} [${Array(9)
            .fill(`*a${level - 1}`)
            .join(", ")}]`,
    );
    expect(rejection(`version: 1\n${levels.join("\n")}\n`)).toContain("Excessive alias count");
  });

  test("a long string that aliases repeat", () => {
    const long = "x".repeat(100_000);
    const many = Array(900).fill("*a").join(", ");
    expect(rejection(`version: 1\nlong: &a ${long}\ngroups: [${many}]\n`)).toContain(
      `exceeds the limit of ${configurationLimitBytes / 1_048_576} MiB`,
    );
  });

  test("invalid YAML with at most 20 problems in the message", () => {
    const twice = Array.from({ length: 50 }, () => "a: 1").join("\n");
    expect(rejection(twice)).toMatch(/\nand \d+ more$/);
  });
});

test("a JSON Pointer maps to its value in the text, or to the nearest enclosing value", () => {
  const file = parse(`version: 1
groups:
  - name: A
    roles: [ADMIN, NONE]
  - {}
a/b~c:
  deep: 1
`);
  const places = {
    "/version": "1:10",
    "/groups": "2:1",
    "/groups/0": "3:5",
    "/groups/0/name": "3:11",
    "/groups/0/roles": "4:5",
    "/groups/0/roles/1": "4:20",
    "/groups/1/name": "5:5",
    "/a~1b~0c/deep": "7:9",
    "/nowhere/at/all": "1:1",
    "": "1:1",
  };
  for (const [pointer, place] of Object.entries(places)) expect(file.placeOf(pointer), pointer).toBe(place);
});

test("the written YAML reads back unchanged, names its schema, and keeps short lists on one line", () => {
  const configuration = {
    version: 1 as const,
    groups: [{ name: "no" }, { name: "1e3" }, { name: "# x: [" }, { name: "A", idpMapping: ["a, b", "c"] }],
    admissionRules: [{ name: "Two lines", rule: "true &&\nfalse" }],
  };
  const text = configurationText(configuration, "https://gatehouse.example.com/");
  expect(text.split("\n")[0]).toBe(
    "# yaml-language-server: $schema=https://gatehouse.example.com/schemas/configuration.json",
  );
  expect(parse(text).document).toEqual(configuration);
  expect(text).toContain('- name: "no"\n');
  expect(text).toContain('idpMapping: ["a, b", c]\n');
  expect(text).toContain("rule: |-\n");
});
