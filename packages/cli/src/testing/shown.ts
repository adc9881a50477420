import { until } from "@gatehouse/server/testing/until";

/** The output of a command that is running. */
interface Running {
  readonly output: string;
  readonly log: string;
}

/**
 * Waits for a text that a command writes for people, on standard error.
 *
 * @param pattern its first group is the result
 */
export async function shown(command: Running, pattern: RegExp): Promise<string> {
  const found = () => pattern.exec(command.log)?.[1];
  await until(`the command shows ${pattern}`, () => found() !== undefined).catch((cause: unknown) => {
    throw new Error(`The command does not show ${pattern}: ${command.log}${command.output}`, { cause });
  });
  return found() ?? "";
}
