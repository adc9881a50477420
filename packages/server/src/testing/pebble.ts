/** Debian's pebble, a certificate authority for tests, with a DNS server that resolves every name to 127.0.0.1. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { firstCertificate } from "./certificates.ts";
import { until } from "./until.ts";

const programs = ["/usr/bin/pebble", "/usr/bin/pebble-challtestsrv"] as const;

/** Why the tests cannot run; undefined if they can. */
export const pebbleProblem = programs.every((program) => existsSync(program)) ? undefined : "pebble is not installed";

export interface PebblePorts {
  /** The ports at which it checks proofs. */
  readonly httpPort: number;
  readonly tlsPort: number;
}

export class Pebble {
  readonly folder = mkdtempSync(join(tmpdir(), "gatehouse-pebble-"));
  /** PEM file of the certificate that signs the one of the directory. */
  readonly caFile = join(this.folder, "cert.pem");
  readonly #ports: readonly [directory: number, management: number, dns: number, dnsManagement: number];
  #processes: readonly ChildProcess[] = [];

  private constructor(ports: readonly [number, number, number, number]) {
    this.#ports = ports;
    writeFileSync(this.caFile, firstCertificate.cert);
    writeFileSync(join(this.folder, "key.pem"), firstCertificate.key);
  }

  static async create(): Promise<Pebble> {
    return new Pebble([await freePort(), await freePort(), await freePort(), await freePort()]);
  }

  get directoryUrl(): string {
    return `https://localhost:${this.#ports[0]}/dir`;
  }

  async start({ httpPort, tlsPort }: PebblePorts): Promise<void> {
    const [directory, management, dns, dnsManagement] = this.#ports;
    const file = join(this.folder, "pebble.json");
    const settings = {
      listenAddress: `127.0.0.1:${directory}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: this.caFile,
      privateKey: join(this.folder, "key.pem"),
      httpPort,
      tlsPort,
      ocspResponderURL: "",
      externalAccountBindingRequired: false,
    };
    writeFileSync(file, JSON.stringify({ pebble: settings }));
    const nowhere = ["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""];
    const names = ["-dns01", `127.0.0.1:${dns}`, "-management", `127.0.0.1:${dnsManagement}`];
    const env = { ...process.env, PEBBLE_VA_NOSLEEP: "1", PEBBLE_AUTHZREUSE: "0" };
    this.#processes = [
      spawn(programs[1], [...nowhere, ...names], { stdio: "ignore" }),
      spawn(programs[0], ["-config", file, "-dnsserver", `127.0.0.1:${dns}`], { stdio: "ignore", env }),
    ];
    await until("pebble answers", () => this.root().then(Boolean, () => false));
  }

  /** PEM of the certificate that signs all others. */
  async root(): Promise<string> {
    const options = { host: "localhost", port: this.#ports[1], path: "/roots/0", ca: firstCertificate.cert };
    const sent = request(options);
    sent.end();
    const [answer] = await once(sent, "response");
    return text(answer);
  }

  async remove(): Promise<void> {
    for (const running of this.#processes) {
      if (running.exitCode !== null) continue;
      const exit = once(running, "exit");
      running.kill("SIGTERM");
      await exit;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
