import { createInterface } from "node:readline/promises";
import { escapeControls } from "../output.ts";

/**
 * Asks a question on the terminal. The question goes to standard error, so that standard output contains only the
 * result.
 */
export async function prompt(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(escapeControls(question))).trim();
  } finally {
    terminal.close();
  }
}
