import { readFileSync } from "node:fs";
import { Command } from "commander";
import { writeError } from "./output.ts";

export interface ProgramOptions {
  /** With JSON, the caller reports errors in the command line. */
  readonly json: boolean;
  writeHelp(text: string): void;
}

export type CreateProgram = (options: ProgramOptions) => Command;

/** A command with the options and the errors that all programs have. */
export function emptyProgram(name: string, { json, writeHelp }: ProgramOptions): Command {
  return new Command(name)
    .configureOutput({ writeOut: writeHelp, writeErr: json ? () => {} : writeError }) // subcommands inherit it
    .version(ownVersion(), "--version", "Show the version.")
    .helpOption("--help", "Show help.")
    .exitOverride();
}

/** Lets errors in the command line name the help of the command with the error. Call it when all commands are added. */
export function addHelpHints(command: Command, parents = ""): void {
  const name = `${parents}${command.name()}`;
  const content = command.commands.length === 0 ? "its options" : "a list of commands";
  command.showHelpAfterError(`Run ${name} --help for ${content}.`);
  for (const subcommand of command.commands) addHelpHints(subcommand, `${name} `);
}

/** The version of this program. */
export function ownVersion(): string {
  const description: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const known = typeof description === "object" && description !== null && "version" in description;
  return known ? String(description.version) : "unknown";
}
