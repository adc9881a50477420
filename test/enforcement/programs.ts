/** Our own programs, run from their sources on a machine of a test. */
import { type ChildProcess, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Namespace } from "./namespaces.ts";

const fromSource = fileURLToPath(new URL("./from-source.mjs", import.meta.url));

interface ManagedProgramOptions {
  readonly namespace: Namespace;
  /** The path from the root of the repository. */
  readonly module: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** A program that can be started, ended and restarted. */
export class ManagedProgram {
  readonly #options: ManagedProgramOptions;
  #child: ChildProcess | undefined;
  /** The output of both streams since the last start. */
  output = "";

  constructor(options: ManagedProgramOptions) {
    this.#options = options;
  }

  /** @param args replace the default ones */
  start(args: readonly string[] = this.#options.args): void {
    const { namespace, module, environment } = this.#options;
    this.output = "";
    const child = namespace.start(process.execPath, [fromSource, module, ...args], {
      PATH: process.env.PATH,
      ...environment,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text: Buffer) => {
        this.output += text;
      });
    }
    this.#child = child;
  }

  /** @returns the exit code once the program ends by itself; null: by a signal */
  ended(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) throw new Error("it was not started");
    return new Promise((resolve) => child.once("close", resolve));
  }

  /** Suspends the program: it neither receives messages nor closes connections. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Lets the program only read the kernel's settings, as in a container, or lets it change them again. */
  setReadOnlySettings(isReadOnly: boolean): void {
    const mount = (program: string, ...args: string[]) =>
      execFileSync("nsenter", ["-t", String(this.#child?.pid), "-m", program, ...args], { stdio: "pipe" });
    if (isReadOnly) {
      mount("mount", "--bind", "/proc/sys", "/proc/sys");
      mount("mount", "-o", "remount,bind,ro", "/proc/sys");
    } else mount("umount", "/proc/sys");
  }

  /** Asks the program to end, and waits for that. @returns its exit code */
  stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  /** Ends the program like a power failure of its machine. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async #end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    child.kill(signal);
    return closed;
  }
}
