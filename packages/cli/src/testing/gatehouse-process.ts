/** The real command in its own process, run from the sources. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Arguments with which Node runs the command from the sources, before the command line. */
export const fromSource = [fileURLToPath(new URL("./gatehouse-from-source.mjs", import.meta.url))] as const;

export class GatehouseProcess {
  output = "";
  log = "";
  readonly #child: ChildProcess;
  readonly #ended: Promise<number>;

  /**
   * @param args the command line after `gatehouse`
   * @param environment variables besides those of this process
   */
  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const settingsOutside = ([name]: [string, unknown]) => !name.startsWith("GATEHOUSE_");
    this.#child = spawn(process.execPath, [...fromSource, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...Object.fromEntries(Object.entries(process.env).filter(settingsOutside)), ...environment },
    });
    this.#child.stdout?.on("data", (text: Buffer) => {
      this.output += text;
    });
    this.#child.stderr?.on("data", (text: Buffer) => {
      this.log += text;
    });
    this.#ended = once(this.#child, "close").then(([code]) => Number(code));
  }

  /** Waits until the server runs, and returns its address. */
  async serving(): Promise<string> {
    for (;;) {
      const address = /serves on (https?:\S+),/.exec(this.output)?.[1];
      if (address !== undefined) return address;
      const ended = this.#ended.then((code) => {
        throw new Error(`gatehouse ended with ${code}: ${this.log}`);
      });
      await Promise.race([once(this.#child.stdout ?? this.#child, "data"), ended]);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** @returns the exit code */
  exited(): Promise<number> {
    return this.#ended;
  }
}
