import type { CommandHelp } from "./command-help.ts";

interface ManualOptions {
  readonly version: string;
  /** Date of the release, such as 2026-11-22. */
  readonly date: string;
  readonly files: readonly { readonly path: string; readonly description: string }[];
  readonly seeAlso: readonly string[];
}

/** Writes the manual page of a command and its subcommands, in the format of man(7). */
export function manualPage(help: CommandHelp, { version, date, files, seeAlso }: ManualOptions): string {
  const name = help.path.join(" ");
  const [summary = ""] = help.description.split(/(?<=\.)\s/);
  return [
    `.TH ${quote(name.toUpperCase())} 1 ${quote(date)} ${quote(`Gatehouse ${version}`)} "Gatehouse"`,
    ".SH NAME",
    `${escapeText(name)} \\- ${escapeText(summary.replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    ...help.usage.split("\n").flatMap((line) => [escapeText(line), ".br"]),
    ".SH DESCRIPTION",
    escapeText(help.description),
    ...section("OPTIONS", optionLines(help)),
    ...section("COMMANDS", help.commands.flatMap(commandLines)),
    ...section("NOTES", exampleLines(help.notes)),
    ...section(
      "FILES",
      files.flatMap(({ path, description }) => [".TP", `.I ${escapeText(path)}`, escapeText(description)]),
    ),
    ...section("SEE ALSO", seeAlso.length === 0 ? [] : [escapeText(seeAlso.join(", "))]),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`.SH ${title}`, ...lines];
}

function commandLines(help: CommandHelp): readonly string[] {
  if (help.commands.length > 0) return help.commands.flatMap(commandLines);
  return [
    `.SS ${quote(help.usage)}`,
    escapeText(help.description),
    ...optionLines(help),
    ...(help.notes === "" ? [] : [".PP", ...exampleLines(help.notes)]),
  ];
}

function optionLines({ options }: CommandHelp): readonly string[] {
  return options.flatMap(({ flags, description }) => [
    ".TP",
    `.B ${escapeText(flags)}`,
    ...(description === "" ? [] : [escapeText(description)]),
  ]);
}

function exampleLines(text: string): readonly string[] {
  return text === "" ? [] : [".nf", ...text.split("\n").map(escapeText), ".fi"];
}

/** Escapes characters and line starts that roff interprets. Hyphens stay hyphens, so that options can be copied. */
function escapeText(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replaceAll(/^([.'])/gm, "\\&$1");
}

function quote(text: string): string {
  return `"${escapeText(text).replaceAll('"', "\\(dq")}"`;
}
