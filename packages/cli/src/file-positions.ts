/** Adds positions in a file to errors about its content. */
import type { ConfigurationFile } from "./configuration-file.ts";
import { CommandFailure } from "./failure.ts";

/**
 * Runs a call that sends a file, and adds positions in the file to errors about it.
 *
 * @throws CommandFailure
 */
export async function withPositions<T>(file: ConfigurationFile, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.problem === undefined) throw error;
    const { problem } = error;
    const { errors = [] } = problem;
    const inFile = errors.filter(({ pointer }) => pointer === "" || pointer.startsWith("/"));
    if (inFile.length === 0) throw error;
    throw new CommandFailure(`${problem.title} (${problem.status}).`, {
      details: [
        ...inFile.map(({ pointer, message }) => `${file.name}:${file.placeOf(pointer)}  ${message}  (${pointer})`),
        ...(problem.detail.includes("are listed") ? [problem.detail] : []),
        `Request id: ${problem.requestId}`,
      ],
      body: { ...problem, errors: errors.map((field) => ({ ...field, place: file.placeOf(field.pointer) })) },
    });
  }
}
