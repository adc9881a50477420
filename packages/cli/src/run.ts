import { exitCodeOf, exitCodes, writeFailure } from "./failure.ts";
import { createProgram } from "./program.ts";

/**
 * Runs one command line.
 *
 * @param args what follows the command's own name
 * @returns the exit code; what went wrong is on standard error
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync([...args], { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    writeFailure(error, args.includes("--json"));
    return exitCodeOf(error);
  }
}
