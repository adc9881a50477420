import { createInterface } from "node:readline/promises";

/** Asks on the terminal. The question goes to standard error, so that standard output holds the result alone. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}
