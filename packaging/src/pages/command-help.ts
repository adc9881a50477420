/** The help of a command as data. Manual pages and completion are made from it. */
import type { Command } from "commander";

export interface CommandHelp {
  /** The words that call the command, such as `gatehouse key create`. */
  readonly path: readonly string[];
  readonly usage: string;
  readonly description: string;
  readonly options: readonly { readonly flags: string; readonly description: string }[];
  readonly commands: readonly CommandHelp[];
  /** Text after the options, such as examples. */
  readonly notes: string;
}

/** Reads a command of commander and its subcommands. */
export function helpOfCommand(command: Command, parents: readonly string[] = []): CommandHelp {
  const help = command.createHelp();
  const path = [...parents, command.name()];
  return {
    path,
    usage: help.commandUsage(command),
    description: help.commandDescription(command),
    options: help.visibleOptions(command).map((option) => ({
      flags: help.optionTerm(option),
      description: help.optionDescription(option),
    })),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== "help")
      .map((each) => helpOfCommand(each, path)),
    notes: notesOf(command),
  };
}

/** The text that `addHelpText("after", …)` adds, which commander only writes. */
function notesOf(command: Command): string {
  let written = "";
  const before = command.configureOutput();
  command.configureOutput({
    ...before,
    writeOut: (text) => {
      written += text;
    },
  });
  command.outputHelp();
  command.configureOutput(before);
  const own = command.helpInformation();
  return written.startsWith(own) ? written.slice(own.length).trim() : "";
}

/** Reads a help text in the form of `gatehouse-gateway --help`: usage, a description, and options. */
export function helpOfText(name: string, text: string): CommandHelp {
  const paragraphs = text.trim().split(/\n\n+/);
  const [usage = "", description = "", options = "", ...rest] = paragraphs;
  return {
    path: [name],
    usage: usage.replace(/^Usage: /, "").replaceAll(/\n\s+/g, "\n"),
    description,
    options: options.split("\n").map((line) => {
      const [, flags, explanation] = /^ {2}(\S+(?: \S+)*) {2,}(\S.*)$/.exec(line) ?? [];
      if (flags === undefined || explanation === undefined) throw new Error(`${name}: not an option: ${line}`);
      return { flags, description: explanation };
    }),
    commands: [],
    notes: rest.join("\n\n"),
  };
}
