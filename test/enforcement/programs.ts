/** Programs of ours that run on a machine of a test, from their sources. */
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Namespace } from "./namespaces.ts";

const fromSource = fileURLToPath(new URL("./from-source.mjs", import.meta.url));

interface ManagedProgramOptions {
  readonly namespace: Namespace;
  /** From the root of the repository. */
  readonly module: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where programs of one test keep what was transpiled. */
  readonly sharedFolder: string;
}

/** One that is started, ended, and started again. */
export class ManagedProgram {
  readonly #options: ManagedProgramOptions;
  #child: ChildProcess | undefined;
  /** What it said, on both of its outputs, since it was started last. */
  output = "";

  constructor(options: ManagedProgramOptions) {
    this.#options = options;
  }

  /** @param args in place of the usual ones */
  start(args: readonly string[] = this.#options.args): void {
    const { namespace, module, environment, sharedFolder } = this.#options;
    this.output = "";
    const child = namespace.start(process.execPath, ["--conditions=gatehouse-source", fromSource, module, ...args], {
      PATH: process.env.PATH,
      ...environment,
      GATEHOUSE_TEST_TRANSPILED: sharedFolder,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text: Buffer) => {
        this.output += text;
      });
    }
    this.#child = child;
  }

  /** @returns its exit code, once it ends by itself; null: by a signal */
  ended(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) throw new Error("it was not started");
    return new Promise((resolve) => child.once("close", resolve));
  }

  /** Lets it do nothing for a while: it hears of nothing, and ends nothing. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Lets it end as it does when asked to, and waits for that. @returns its exit code */
  stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  /** As if its machine's power had gone. */
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
