/** Error output of commands, for people and for scripts. */
import type { GatehouseError } from "@gatehouse/client/errors";
import { ConfigError } from "@gatehouse/server/config";
import { CommanderError } from "commander";
import { writeErrorLines } from "./output.ts";

/**
 * 0: success. 1: failure. 2: invalid command line or setting; nothing was attempted. 3: a plan has changes. 4: applied,
 * but not every gateway has confirmed the change.
 */
export const exitCodes = { ok: 0, failed: 1, usage: 2, changes: 3, notEnforced: 4 } as const;

type Problem = GatehouseError["problem"];

/** Ends a successful command with an exit code that reports its result. */
export class CommandExit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`);
    this.name = "CommandExit";
    this.exitCode = exitCode;
  }
}

/** A failure with a message for the user: what is wrong, and what to do. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  /** Further lines for people. */
  readonly details: readonly string[];
  /** The output with `--json`. */
  readonly body: object;
  /** The API's error, if there was one. */
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

/** Writes an error to standard error: as text, or with `json` as one JSON object. */
export function writeFailure(error: unknown, json: boolean): void {
  // Requested help is not a failure. Without `json`, commander has already written the error.
  if (error instanceof CommanderError && (error.exitCode === 0 || !json)) return;
  const lines = linesOf(error);
  writeErrorLines(json ? [JSON.stringify(bodyOf(error, lines))] : lines);
}

function bodyOf(error: unknown, lines: readonly string[]): object {
  return error instanceof CommandFailure ? error.body : { title: lines[0], detail: lines.slice(1).join("\n") };
}

function linesOf(error: unknown): readonly string[] {
  if (error instanceof CommandFailure) return [error.message, ...error.details];
  if (error instanceof ConfigError) {
    return ["Gatehouse cannot start because of invalid settings.", ...error.problems.map((problem) => `  ${problem}`)];
  }
  if (error instanceof CommanderError) return commandLineLines(error);
  if (!(error instanceof Error)) return [String(error)];
  return "remedy" in error && typeof error.remedy === "string" ? [error.message, error.remedy] : [error.message];
}

function commandLineLines({ code, message }: CommanderError): readonly string[] {
  // Commander's own message is "(outputHelp)".
  if (code === "commander.help") return ["The command is missing. Run gatehouse --help for a list of commands."];
  return message.replace(/^error: /, "").split("\n");
}
