/** Network namespaces of one test. They are always removed after the test, with all processes in them. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const prefix = "ghtest";
const socketFolder = "/var/run/wireguard";
/** Files of namespaces that `ip netns exec` mounts over those in /etc. */
const filesFolder = "/etc/netns";
const systemFolders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/** The system's programs only: a package of npm has a program `nft`, too, which npm puts before nftables. */
const systemPath = systemFolders.join(":");

/** The reason why real packets cannot be tested here; undefined: they can. */
export function obstacle(): string | undefined {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "only root may make network namespaces";
  const missing = ["ip", "nft", "wg", "wireguard-go", "ping"].filter((program) => !isInstalled(program));
  if (missing.length > 0) return `${missing.join(", ")} not installed`;
  if (!existsSync("/dev/net/tun")) return "/dev/net/tun is missing";
  const probe = `${prefix}-${process.pid}-probe`;
  try {
    run("ip", ["netns", "add", probe]);
    run("ip", ["netns", "exec", probe, "nft", "add", "table", "inet", "probe"]);
  } catch (error) {
    return `network namespaces do not work: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    quietly(() => run("ip", ["netns", "del", probe]));
  }
  return undefined;
}

/** One machine of the test: a namespace with separate interfaces, addresses and processes. */
export class Namespace {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
    run("ip", ["netns", "add", name]);
    this.run("ip", ["link", "set", "lo", "up"]);
  }

  run(program: string, args: readonly string[], input = ""): string {
    return run("ip", ["netns", "exec", this.name, program, ...args], input);
  }

  start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
    return spawn("ip", ["netns", "exec", this.name, program, ...args], {
      env: { ...env, PATH: systemPath },
      stdio: ["pipe", "pipe", "pipe"],
    });
  }
}

export class Namespaces {
  /** Short because it is part of interface names, which must also differ between namespaces. */
  readonly id = randomBytes(3).toString("hex");
  readonly #namespaces: Namespace[] = [];
  readonly #onExit = () => this.remove();

  constructor() {
    removeOrphans();
    process.once("exit", this.#onExit);
  }

  add(role: string): Namespace {
    const namespace = new Namespace(`${prefix}-${process.pid}-${this.id}-${role}`);
    this.#namespaces.push(namespace);
    return namespace;
  }

  /** Adds a namespace with a bridge: a network to which other namespaces connect. */
  addNetwork(role: string): Namespace {
    const network = this.add(role);
    network.run("ip", ["link", "add", "bridge", "type", "bridge"]);
    network.run("ip", ["link", "set", "bridge", "up"]);
    return network;
  }

  /** @param addresses with prefix lengths */
  connect(machine: Namespace, network: Namespace, interfaceName: string, addresses: readonly string[]): void {
    const port = `p${randomBytes(4).toString("hex")}`;
    const ends = ["link", "add", interfaceName, "netns", machine.name, "type", "veth", "peer", "name", port];
    run("ip", [...ends, "netns", network.name]);
    network.run("ip", ["link", "set", port, "master", "bridge", "up"]);
    for (const address of addresses) {
      const more = address.includes(":") ? ["nodad"] : [];
      machine.run("ip", ["address", "add", address, "dev", interfaceName, ...more]);
    }
    machine.run("ip", ["link", "set", interfaceName, "up"]);
  }

  /** Sets the resolvers of a machine. The first call must come before the machine's programs start. */
  setResolvers({ name }: Namespace, resolvers: readonly string[]): void {
    mkdirSync(path.join(filesFolder, name), { recursive: true });
    // `ip netns exec` mounts this file, so it must be changed in place.
    const lines = resolvers.map((resolver) => `nameserver ${resolver}\n`);
    writeFileSync(path.join(filesFolder, name, "resolv.conf"), lines.join(""));
  }

  /** Ends all processes and removes the namespaces. Never throws. */
  remove(): void {
    process.removeListener("exit", this.#onExit);
    for (const { name } of this.#namespaces.splice(0)) removeNamespace(name);
    removeSockets(this.id);
  }
}

/** A process that accepts orders as lines of JSON, and responds to each. */
export class Prober {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  readonly ready: Promise<void>;
  #number = 0;
  #errors = "";

  /** @param program in this file's folder that accepts orders */
  constructor(namespace: Namespace, program = "prober.mjs") {
    this.#child = namespace.start(process.execPath, [fileURLToPath(new URL(program, import.meta.url))]);
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("a prober has no output");
    stderr.on("data", (text: Buffer) => {
      this.#errors += text;
    });
    this.ready = new Promise((resolve, reject) => {
      createInterface({ input: stdout }).on("line", (line) => {
        const { ready, number, answer, error } = JSON.parse(line) as {
          ready?: true;
          number: number;
          answer?: unknown;
          error?: string;
        };
        if (ready === true) return resolve();
        const waiting = this.#waiting.get(number);
        this.#waiting.delete(number);
        if (error === undefined) waiting?.resolve(answer);
        else waiting?.reject(new Error(error));
      });
      this.#child.once("close", () => {
        const ended = new Error(`a prober ended: ${this.#errors}`);
        reject(ended);
        for (const waiting of this.#waiting.values()) waiting.reject(ended);
      });
    });
    this.ready.catch(() => {});
  }

  /** @param order of prober.mjs */
  ask<Answer = boolean>(order: string, rest: object = {}): Promise<Answer> {
    const number = ++this.#number;
    this.#child.stdin?.write(`${JSON.stringify({ number, order, ...rest })}\n`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve: resolve as (answer: unknown) => void, reject });
    });
  }
}

function run(program: string, args: readonly string[], input = ""): string {
  const env = { ...process.env, PATH: systemPath };
  return execFileSync(program, [...args], { input, env, encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] });
}

function isInstalled(program: string): boolean {
  return systemFolders.some((folder) => existsSync(`${folder}/${program}`));
}

function removeNamespace(name: string): void {
  quietly(() => {
    for (const pid of run("ip", ["netns", "pids", name]).split("\n")) {
      if (pid !== "") quietly(() => process.kill(Number(pid), "SIGKILL"));
    }
  });
  quietly(() => run("ip", ["netns", "del", name]));
  quietly(() => rmSync(path.join(filesFolder, name), { recursive: true, force: true }));
}

/** Removes sockets of wireguard-go, which remain after it is killed. */
function removeSockets(id: string): void {
  quietly(() => {
    for (const file of readdirSync(socketFolder)) {
      if (file.includes(id)) rmSync(`${socketFolder}/${file}`, { force: true });
    }
  });
}

/** Removes the resources of a test that was killed. */
function removeOrphans(): void {
  const names = run("ip", ["netns", "list"]).split("\n");
  for (const line of names) {
    const [name = ""] = line.split(" ");
    const pid = new RegExp(`^${prefix}-([0-9]+)-`).exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    removeNamespace(name);
    removeSockets(name.split("-")[2] ?? "none");
  }
}

function quietly(work: () => unknown): void {
  try {
    work();
  } catch {
    // The cleanup continues with the other resources.
  }
}
