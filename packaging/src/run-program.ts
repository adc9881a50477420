import { execFile } from "node:child_process";

interface RunOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. @returns its standard output. @throws Error with its output, if it fails */
export function runProgram(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, environment } = options;
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { cwd, env: { ...process.env, ...environment }, maxBuffer: 64 * 1024 ** 2 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${program} ${args.join(" ")} failed: ${error.message}\n${stdout}${stderr}`));
      },
    );
  });
}
