/** Runs commands in the test's own process. */
import { vi } from "vitest";
import type { CreateProgram } from "../empty-program.ts";
import { createProgram } from "../program.ts";
import { run } from "../run.ts";

export interface Ran {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

interface RunOptions {
  /** The system error code with which writes to standard output fail, such as ENOSPC. */
  readonly outputError?: string | undefined;
  readonly program?: CreateProgram;
}

type Written = (error?: Error) => void;

/**
 * A running command, whose output can be read before it ends. Only one can run at a time, because it takes over the
 * standard streams of the process.
 */
export class CommandHere {
  /** The text on standard output so far. */
  output = "";
  /** The text on standard error so far. */
  log = "";
  readonly #ended: Promise<number>;

  /** @param args the command line after `gatehouse` */
  constructor(args: readonly string[], { outputError, program = createProgram }: RunOptions = {}) {
    const failure =
      outputError === undefined ? undefined : Object.assign(new Error(outputError), { code: outputError });
    const write =
      (to: "output" | "log", error?: Error) =>
      (text: string | Uint8Array, ...rest: unknown[]) => {
        if (error === undefined) this[to] += String(text);
        // write(text, encoding?, callback?): the spy's type knows only one overload
        const done = rest.at(-1) as Written | undefined;
        process.nextTick(() => done?.(error));
        return true;
      };
    const spies = [
      vi.spyOn(process.stdout, "write").mockImplementation(write("output", failure)),
      vi.spyOn(process.stderr, "write").mockImplementation(write("log")),
    ];
    this.#ended = run(program, args).finally(() => {
      for (const spy of spies) spy.mockRestore();
    });
  }

  /** @returns the exit code */
  exited(): Promise<number> {
    return this.#ended;
  }
}

/** @param outputError the system error code with which writes to standard output fail, such as ENOSPC */
export async function runHere(args: readonly string[], outputError?: string, program?: CreateProgram): Promise<Ran> {
  const command = new CommandHere(args, { outputError, ...(program === undefined ? {} : { program }) });
  const code = await command.exited();
  return { code, output: command.output, errors: command.log };
}
