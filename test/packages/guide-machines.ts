/**
 * The machines of docs/deployment.md:
 *
 *     server ────┐
 *     device ────┤
 *     laptop ────┤ public ── gateway ── office ── web server, 10.80.0.11
 *     browser ───┘
 *
 * Machines are Debian roots in network namespaces, and run systemd. The web server and the browser are only processes
 * in a namespace. The server's certificate comes from an authority of the test, which the machines trust.
 */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { addAuthenticator, chromiumFlags, chromiumPath, withoutBrowser } from "../chromium.ts";
import { type Namespace, Namespaces } from "../enforcement/namespaces.ts";
import { DebianRoot, must } from "./debian-root.ts";

const addresses = {
  ...{ server: "192.0.2.101", gateway: "192.0.2.1", device: "192.0.2.11", laptop: "192.0.2.12" },
  ...{ browser: "192.0.2.13", office: "10.80.0.1", web: "10.80.0.11" },
};

const roles = ["server", "gateway", "device", "laptop"] as const;
type Role = (typeof roles)[number];

interface Dialog {
  readonly prompt: RegExp;
  /** @param found the match of the prompt @returns the line to type, if any */
  readonly answer: (found: RegExpExecArray) => string | undefined | Promise<undefined>;
}

export class GuideMachines {
  readonly #namespaces = new Namespaces();
  readonly #roots = new Map<Role, DebianRoot>();
  readonly #running: ChildProcess[] = [];
  #browsing: { readonly browser: Browser; readonly folder: string } | undefined;
  #browserNamespace: Namespace | undefined;

  async start(): Promise<void> {
    const wide = this.#namespaces.addNetwork("public");
    const office = this.#namespaces.addNetwork("office");
    for (const role of roles) {
      const namespace = this.#namespaces.add(role);
      this.#namespaces.connect(namespace, wide, "wide", [`${addresses[role]}/24`]);
      if (role === "gateway") this.#namespaces.connect(namespace, office, "office", [`${addresses.office}/24`]);
      this.#roots.set(role, await boot(namespace));
    }
    const server = this.root("server");
    await makeCertificate(server.path("root"));
    for (const root of this.#roots.values()) {
      const trusted = root.path("usr/local/share/ca-certificates/test.crt");
      await copyFile(server.path("root/authority.pem"), trusted);
      await root.run("update-ca-certificates");
    }
    const web = this.#namespaces.add("web");
    this.#namespaces.connect(web, office, "office", [`${addresses.web}/24`]);
    const program = `require("node:http").createServer((_, response) => response.end("intranet\\n")).listen(80)`;
    this.#running.push(web.start(process.execPath, ["-e", program]));
    this.#browserNamespace = this.#namespaces.add("browser");
    this.#namespaces.connect(this.#browserNamespace, wide, "wide", [`${addresses.browser}/24`]);
  }

  async remove(): Promise<void> {
    await this.#browsing?.browser.close();
    if (this.#browsing !== undefined) await rm(this.#browsing.folder, { recursive: true });
    for (const child of this.#running) child.kill("SIGKILL");
    for (const root of this.#roots.values()) await root.remove();
    this.#namespaces.remove();
  }

  root(role: Role): DebianRoot {
    const root = this.#roots.get(role);
    if (root === undefined) throw new Error(`The machine ${role} has not started.`);
    return root;
  }

  /** Runs commands of a guide as root. @param folder in which they run */
  async run(role: Role, commands: string, { input = "", folder = "/root" } = {}): Promise<string> {
    const root = this.root(role);
    await writeCommands(root, commands, folder);
    await writeFile(root.path("root/input"), input === "" ? "" : `${input}\n`);
    return root.run("sh", "-c", "exec sh /root/commands </root/input");
  }

  /** Runs commands on a terminal, and answers what they print once. @returns what the terminal showed */
  async atTerminal(role: Role, commands: string, { prompt, answer }: Dialog): Promise<string> {
    const root = this.root(role);
    // The script(1) of Debian 12 never ends if sudo opens another terminal. Root needs no sudo.
    await writeCommands(root, commands.replaceAll("sudo ", ""), "/root");
    const child = root.start("script", "--quiet", "--return", "--command", "sh /root/commands", "/dev/null");
    this.#running.push(child);
    let printed = "";
    let answered: Promise<unknown> | undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text) => {
        printed += String(text);
        const found = prompt.exec(printed);
        if (answered !== undefined || found === null) return;
        answered = Promise.resolve(answer(found)).then((line) => {
          if (line !== undefined) child.stdin?.write(`${line}\n`);
        });
        answered.catch(() => child.kill("SIGKILL"));
      });
    }
    const [code] = await once(child, "close");
    await answered;
    expect({ code, isAnswered: answered !== undefined, printed }).toMatchObject({ code: 0, isAnswered: true });
    return printed;
  }

  /** A page of the browser, with the authenticator of a person. */
  async page(): Promise<Page> {
    this.#browsing ??= await openBrowser(this.#browserNamespace);
    const context = await this.#browsing.browser.newContext({ ignoreHTTPSErrors: true, locale: "en-GB" });
    const page = await context.newPage();
    await addAuthenticator(page);
    return page;
  }

  /** Repeats a step until it succeeds. If it never does, the error has the logs of all machines. */
  async untilSucceeds(work: () => Promise<unknown>): Promise<void> {
    let reason: unknown;
    const succeeds = () =>
      work().then(
        () => true,
        (error: unknown) => {
          reason = error;
          return false;
        },
      );
    await expect
      .poll(succeeds, { timeout: 240_000, interval: 500 })
      .toBe(true)
      .catch(async () => {
        const all = [...this.#roots.values()];
        const logs = await Promise.all(all.map((root) => root.run("journalctl", "--no-pager", "--lines=60")));
        throw new Error([String(reason), ...logs].join("\n"));
      });
  }
}

async function boot(namespace: Namespace): Promise<DebianRoot> {
  const root = await DebianRoot.make(namespace.name);
  const names = `${addresses.server} gatehouse.example.com\n${addresses.gateway} gateway.example.com\n`;
  await writeFile(root.path("etc/hosts"), `127.0.0.1 localhost ${hostname()}\n${names}`);
  // The installer of Debian creates a machine id.
  await writeFile(root.path("etc/machine-id"), `${randomUUID().replaceAll("-", "")}\n`);
  // The dependencies are already installed, and the machine reaches no mirror.
  await writeFile(root.path("etc/apt/sources.list"), "");
  await root.boot();
  return root;
}

async function writeCommands(root: DebianRoot, commands: string, folder: string): Promise<void> {
  // Otherwise apt asks whether to continue, and whether to keep changed settings files, which is its default.
  const unattended = "-y -q -o Dpkg::Options::=--force-confold";
  const text = commands.replaceAll(/apt-get (install|purge|upgrade)/g, `apt-get $1 ${unattended}`);
  await writeFile(root.path("root/commands"), `set -e\ncd ${folder}\n${text}`);
}

/** Runs this machine's Chromium in the network of the namespace. */
async function openBrowser(namespace: Namespace | undefined): Promise<{ browser: Browser; folder: string }> {
  if (chromiumPath === undefined || namespace === undefined) throw new Error(withoutBrowser);
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-browser-"));
  const program = path.join(folder, "chromium");
  await writeFile(program, `#!/bin/sh\nexec ip netns exec ${namespace.name} ${chromiumPath} "$@"\n`);
  await chmod(program, 0o755);
  const resolve = `--host-resolver-rules=MAP gatehouse.example.com ${addresses.server}`;
  return { browser: await chromium.launch({ executablePath: program, args: [...chromiumFlags, resolve] }), folder };
}

/** Writes server.pem and server.key of gatehouse.example.com, and authority.pem, which signed the former. */
async function makeCertificate(folder: string): Promise<void> {
  const script = `
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=Test authority" \\
  -keyout authority.key -out authority.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=gatehouse.example.com" \\
  -keyout server.key -out server.csr
printf 'subjectAltName=DNS:gatehouse.example.com\\n' > extensions
openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 \\
  -extfile extensions -out server.pem
rm authority.key server.csr extensions`;
  await mkdir(folder, { recursive: true });
  await must("sh", ["-ec", `cd "${folder}"\n${script}`]);
}
