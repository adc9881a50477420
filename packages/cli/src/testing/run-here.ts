/** Runs a command in the test's own process. */
import { vi } from "vitest";
import type { CreateProgram } from "../empty-program.ts";
import { createProgram } from "../program.ts";
import { run } from "../run.ts";

export interface Ran {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

type Written = (error?: Error) => void;

/** @param outputError the system error code with which writes to standard output fail, such as ENOSPC */
export async function runHere(
  args: readonly string[],
  outputError?: string,
  program: CreateProgram = createProgram,
): Promise<Ran> {
  const written = { output: "", errors: "" };
  const failure = outputError === undefined ? undefined : Object.assign(new Error(outputError), { code: outputError });
  const write =
    (to: keyof typeof written, error?: Error) =>
    (text: string | Uint8Array, ...rest: unknown[]) => {
      if (error === undefined) written[to] += String(text);
      // write(text, encoding?, callback?): the spy's type knows only one overload
      const done = rest.at(-1) as Written | undefined;
      process.nextTick(() => done?.(error));
      return true;
    };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(write("output", failure)),
    vi.spyOn(process.stderr, "write").mockImplementation(write("errors")),
  ];
  try {
    return { code: await run(program, args), ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
