import { execFileSync, spawnSync } from "node:child_process";
import { createProgram } from "@gatehouse/cli/program";
import { describe, expect, test } from "vitest";
import { bashCompletion } from "./bash-completion.ts";
import { type CommandHelp, helpOfCommand, helpOfText } from "./command-help.ts";
import { manualPage } from "./manual-page.ts";

const help = helpOfCommand(createProgram({ json: false, writeHelp: () => {} }));
const hasGroff = spawnSync("groff", ["--version"]).status === 0;
if (!hasGroff) console.warn("Manual pages are not rendered: groff is not installed.");

describe("the help of a command", () => {
  test("contains all subcommands with their options and examples", () => {
    const key = help.commands.find(({ path }) => path.at(-1) === "key");
    const create = key?.commands.find(({ path }) => path.at(-1) === "create");
    expect(create?.usage).toMatch(/^gatehouse key create \[options\]/);
    expect(create?.options.map(({ flags }) => flags)).toContain("--url <url>");
    expect(help.notes).toMatch(/^Exit codes:/);
  });

  test("is read from the text of a program", () => {
    expect(
      helpOfText("tool", "Usage: tool --a X\n       tool --b\n\nDoes it.\n\n  --a X   first\n  --b     second\n"),
    ).toEqual({
      path: ["tool"],
      usage: "tool --a X\ntool --b",
      description: "Does it.",
      options: [
        { flags: "--a X", description: "first" },
        { flags: "--b", description: "second" },
      ],
      commands: [],
      notes: "",
    });
  });
});

describe("the manual page", () => {
  const page = manualPage(help, { version: "1.2.3", date: "2026-11-22", files: [], seeAlso: ["gatehouse-gateway(1)"] });

  test.skipIf(!hasGroff)("renders without warnings, and keeps hyphens that can be copied", () => {
    const rendered = spawnSync("groff", ["-man", "-Tutf8", "-ww", "-P-cbou"], { input: page, encoding: "utf8" });
    expect(rendered.stderr).toBe("");
    expect(rendered.stdout).toContain("--data-dir <folder>");
    expect(rendered.stdout).toContain("gatehouse - The control plane of a Zero Trust network");
  });

  test("does not let a text start a request of roff", () => {
    const hostile: CommandHelp = {
      path: ["x"],
      usage: "x",
      description: ".so /etc/passwd",
      options: [],
      commands: [],
      notes: "'ig",
    };
    const written = manualPage(hostile, { version: "1", date: "2026-11-22", files: [], seeAlso: [] });
    expect(written).toContain("\n\\&.so /etc/passwd\n");
    expect(written).toContain("\n\\&'ig\n");
  });
});

describe("the completion", () => {
  const complete = (...words: readonly string[]) => {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const script = `${bashCompletion(help)}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _gatehouse; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script], { encoding: "utf8" }).trim().split("\n");
  };

  test("completes commands, subcommands and options", () => {
    expect(complete("gatehouse", "ser")).toEqual(["serve"]);
    expect(complete("gatehouse", "key", "")).toContain("create");
    expect(complete("gatehouse", "key", "create", "--json", "--u")).toEqual(["--url"]);
    expect(complete("gatehouse", "nothing", "")).toEqual([""]);
  });
});
