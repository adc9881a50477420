/** What a person reads when a command fails, and what a script gets. */
import type { GatehouseError } from "@gatehouse/client/errors";
import { ConfigError } from "@gatehouse/server/config";
import { CommanderError } from "commander";
import { writeError } from "./output.ts";

/**
 * 0: done. 1: it failed. 2: the command line or a setting is wrong, and nothing was tried. 3: a plan has changes. 4: done, but not every
 * gateway has said that it enforces it.
 */
export const exitCodes = { ok: 0, failed: 1, usage: 2, changes: 3, notEnforced: 4 } as const;

type Problem = GatehouseError["problem"];

/** Ends a command that did what it should, with a code that says what it found. */
export class CommandEnd extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ends with ${exitCode}`);
    this.name = "CommandEnd";
    this.exitCode = exitCode;
  }
}

/** A failure to print as it is: what went wrong, and what to do. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  /** More lines for people. */
  readonly details: readonly string[];
  /** For `--json`. */
  readonly body: object;
  /** What the API answered, where it said no. */
  readonly problem: Problem | undefined;

  constructor(
    message: string,
    options: { exitCode?: number; details?: readonly string[]; body?: object; problem?: Problem } = {},
  ) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = options.exitCode ?? exitCodes.failed;
    this.details = options.details ?? [];
    this.body = options.body ?? options.problem ?? { title: message };
    this.problem = options.problem;
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  return error instanceof ConfigError ? exitCodes.usage : exitCodes.failed;
}

/** Says what went wrong on standard error: in a few lines, or with `json` as one JSON object. */
export function writeFailure(error: unknown, json: boolean): void {
  // Help that was asked for is no failure; to people, commander has said what is wrong.
  if (error instanceof CommanderError && (error.exitCode === 0 || !json)) return;
  const lines = linesOf(error);
  const text = json ? JSON.stringify(bodyOf(error, lines)) : lines.join("\n");
  writeError(`${text}\n`);
}

function bodyOf(error: unknown, lines: readonly string[]): object {
  return error instanceof CommandFailure ? error.body : { title: lines[0], detail: lines.slice(1).join("\n") };
}

function linesOf(error: unknown): readonly string[] {
  if (error instanceof CommandFailure) return [error.message, ...error.details];
  if (error instanceof ConfigError) {
    return ["Gatehouse cannot start: its settings are wrong.", ...error.problems.map((problem) => `  ${problem}`)];
  }
  if (error instanceof CommanderError) return commandLineLines(error);
  if (!(error instanceof Error)) return [String(error)];
  return "remedy" in error && typeof error.remedy === "string" ? [error.message, error.remedy] : [error.message];
}

function commandLineLines({ code, message }: CommanderError): readonly string[] {
  // Commander's own words for this are "(outputHelp)".
  if (code === "commander.help") return ["A command is missing: gatehouse --help shows what there is."];
  return message.replace(/^error: /, "").split("\n");
}
