import { addHelpHints, type CreateProgram } from "./empty-program.ts";
import { CommandExit, exitCodeOf, exitCodes, writeFailure } from "./failure.ts";
import { isReaderGone, writeText } from "./output.ts";

/**
 * Runs one command line. Errors are written to standard error.
 *
 * @param args the arguments after the command's own name
 * @returns the exit code
 */
export async function run(createProgram: CreateProgram, args: readonly string[]): Promise<number> {
  const json = args.includes("--json");
  try {
    await parse(createProgram, args, json);
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommandExit) return error.exitCode;
    // The reader closed the pipe, as in `gatehouse key list | head -1`.
    if (isReaderGone(error)) return exitCodes.ok;
    writeFailure(error, json);
    return exitCodeOf(error);
  }
}

/** Resolves after commander's own output, such as help, is written too. */
async function parse(createProgram: CreateProgram, args: readonly string[], json: boolean): Promise<void> {
  const help: Promise<void>[] = [];
  const program = createProgram({ json, writeHelp: (text) => help.push(writeText(text)) });
  addHelpHints(program);
  try {
    await program.parseAsync([...args], { from: "user" });
  } finally {
    await Promise.all(help);
  }
}
