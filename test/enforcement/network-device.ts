/**
 * A device in a test's network that runs `gatehouse device enrol` and then `gatehouse device run`, like a person's
 * device.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { type Namespace, Prober } from "./namespaces.ts";
import { ManagedProgram } from "./programs.ts";

interface NetworkDeviceParts {
  readonly namespace: Namespace;
  /** WireGuard's interface name: 15 characters at most, and unique among the tests on this machine. */
  readonly interfaceName: string;
  readonly userId: string;
  /** The URL of its control plane. */
  readonly url: string;
  /** The key that enrols the device. */
  readonly apiKey: string;
  /** The test's folder. */
  readonly folder: string;
}

export class NetworkDevice {
  readonly namespace: Namespace;
  readonly interfaceName: string;
  readonly prober: Prober;
  /** The process of `gatehouse device run`. */
  readonly agent: ManagedProgram;
  readonly #enrol: ManagedProgram;
  readonly stateFolder: string;
  id = "";

  constructor({ namespace, interfaceName, userId, url, apiKey, folder }: NetworkDeviceParts) {
    const stateFolder = path.join(folder, interfaceName);
    const command = { namespace, module: "packages/cli/src/main.ts" };
    this.namespace = namespace;
    this.interfaceName = interfaceName;
    this.stateFolder = stateFolder;
    this.prober = new Prober(namespace);
    this.#enrol = new ManagedProgram({
      ...command,
      args: [
        ...["device", "enrol", "--user", userId, "--name", interfaceName, "--hardware-id", interfaceName],
        ...["--state-folder", stateFolder],
      ],
      environment: { GATEHOUSE_URL: url, GATEHOUSE_API_KEY: apiKey },
    });
    this.agent = new ManagedProgram({
      ...command,
      args: ["device", "run", "--interface", interfaceName, "--state-folder", stateFolder, "--dns", "off"],
    });
  }

  async enrol(): Promise<void> {
    await this.prober.ready;
    this.#enrol.start();
    const exitCode = await this.#enrol.ended();
    if (exitCode !== 0) throw new Error(`the device was not enrolled: ${this.#enrol.output}`);
    this.id = JSON.parse(readFileSync(path.join(this.stateFolder, "enrolment.json"), "utf8")).device;
    this.agent.start();
  }
}
