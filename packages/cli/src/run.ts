import { CommandEnd, exitCodeOf, exitCodes, writeFailure } from "./failure.ts";
import { isReaderGone, writeText } from "./output.ts";
import { createProgram } from "./program.ts";

/**
 * Runs one command line.
 *
 * @param args what follows the command's own name
 * @returns the exit code; what went wrong is on standard error
 */
export async function run(args: readonly string[]): Promise<number> {
  const json = args.includes("--json");
  try {
    await parse(args, json);
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommandEnd) return error.exitCode;
    // As in `gatehouse key list | head -1`: whoever read has what they wanted.
    if (isReaderGone(error)) return exitCodes.ok;
    writeFailure(error, json);
    return exitCodeOf(error);
  }
}

/** Ends once what commander writes by itself, such as help, is written too. */
async function parse(args: readonly string[], json: boolean): Promise<void> {
  const help: Promise<void>[] = [];
  const program = createProgram({ json, writeHelp: (text) => help.push(writeText(text)) });
  try {
    await program.parseAsync([...args], { from: "user" });
  } finally {
    await Promise.all(help);
  }
}
