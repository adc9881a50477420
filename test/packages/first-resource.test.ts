/**
 * docs/deployment.md, word for word, from three fresh machines to a reached resource, with nothing but the artefacts:
 *
 *     server ──┐
 *     device ──┤ public ── gateway ── office ── web server, 10.80.0.11
 *
 * Machines are Debian roots in network namespaces. Nothing runs systemd, so the test starts the services as their units
 * do. The server's certificate comes from an authority of the test, which the machines trust.
 */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { appendFile, copyFile, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Namespaces, obstacle as networkObstacle } from "../enforcement/namespaces.ts";
import { DebianRoot, must, rootObstacle } from "./debian-root.ts";
import { guideCommands } from "./deployment-guide.ts";
import { testedArtefacts } from "./tested-release.ts";

const obstacle = rootObstacle() ?? networkObstacle();
if (obstacle !== undefined) console.warn(`The guide to the first resource is not tried: ${obstacle}`);

const hosts = { gatehouse: "192.0.2.101", gateway: "192.0.2.1", device: "192.0.2.11", office: "10.80.0.1" };
const webServer = "10.80.0.11";

/** The server, started as its unit does. */
const serve = `cd /var/lib/gatehouse && set -a && . /etc/gatehouse/gatehouse.conf && set +a &&
  exec setpriv --reuid=gatehouse --regid=gatehouse --clear-groups --inh-caps=+net_bind_service \
    --ambient-caps=+net_bind_service --no-new-privs \
    gatehouse serve --keys-file /var/lib/gatehouse/first-keys`;
/** The kernel's settings in the package of the gateway, which systemd applies. */
const applySysctl = `sed -n 's/^\\(net[^ ]*\\) = \\(.*\\)$/\\1 \\2/p' /usr/lib/sysctl.d/90-gatehouse-gateway.conf |
  while read -r name value; do echo "$value" > "/proc/sys/$(echo "$name" | tr . /)"; done`;

describe.skipIf(obstacle !== undefined)("docs/deployment.md", () => {
  const namespaces = new Namespaces();
  const roots: DebianRoot[] = [];
  const running: ChildProcess[] = [];
  let server: DebianRoot;
  let gateway: DebianRoot;
  let device: DebianRoot;
  let output = "";

  beforeAll(async () => {
    const { folder, version } = await testedArtefacts();
    const wide = namespaces.addNetwork("public");
    const office = namespaces.addNetwork("office");
    const machine = async (role: string, address: string) => {
      const namespace = namespaces.add(role);
      namespaces.connect(namespace, wide, "wide", [`${address}/24`]);
      const root = await DebianRoot.make(namespace.name);
      roots.push(root);
      const names = `${hosts.gatehouse} gatehouse.example.com\n${hosts.gateway} gateway.example.com\n`;
      await writeFile(root.path("etc/hosts"), `127.0.0.1 localhost\n${names}`);
      // Every installed Debian has its own.
      await writeFile(root.path("etc/machine-id"), `${randomUUID().replaceAll("-", "")}\n`);
      // The dependencies are installed, and no mirror is reachable.
      await writeFile(root.path("etc/apt/sources.list"), "");
      await writeFile(root.path("usr/bin/systemctl"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
      return { namespace, root };
    };
    ({ root: server } = await machine("server", hosts.gatehouse));
    const atOffice = await machine("gateway", hosts.gateway);
    gateway = atOffice.root;
    namespaces.connect(atOffice.namespace, office, "office", [`${hosts.office}/24`]);
    ({ root: device } = await machine("device", hosts.device));
    await makeCertificate(server.path("root"));
    for (const root of roots) {
      const trusted = root.path("usr/local/share/ca-certificates/test.crt");
      await copyFile(server.path("root/authority.pem"), trusted);
      await root.run("update-ca-certificates");
    }
    for (const name of [`gatehouse_${version}_amd64.deb`, `gatehouse-agents_${version}_all.deb`]) {
      await copyFile(path.join(folder, name), server.path(`root/${name}`));
    }
    const web = namespaces.add("web");
    namespaces.connect(web, office, "office", [`${webServer}/24`]);
    const program = `require("node:http").createServer((_, response) => response.end("intranet\\n")).listen(80)`;
    running.push(web.start(process.execPath, ["-e", program]));
  }, 3_600_000);

  afterAll(async () => {
    for (const child of running) child.kill("SIGKILL");
    namespaces.remove();
    for (const root of roots) await root.remove();
  });

  test("leads from fresh machines to a resource behind a gateway", async () => {
    const [install = "", showKeys = "", deleteKeys = ""] = await guideCommands("One machine in five minutes");
    await onMachine(server, install);
    await onMachine(server, "install -d -o gatehouse -g gatehouse -m 0700 /var/lib/gatehouse");
    let stop = start(server, serve);
    await untilSucceeds(() => onMachine(server, "curl -fsS http://127.0.0.1:8080/readyz"));

    const [installCertificate = "", settings = ""] = await guideCommands("TLS");
    await onMachine(server, installCertificate);
    await appendFile(server.path("etc/gatehouse/gatehouse.conf"), settings);
    await stop();
    stop = start(server, serve);
    await untilSucceeds(() => onMachine(server, "curl -fsS https://gatehouse.example.com/readyz"));
    const keys = await onMachine(server, showKeys);
    const [, key = ""] = /API key +(\S+)/.exec(keys) ?? [];
    const [, link = ""] = /^ {2}http:\/\/localhost:8080(\/console\/enrol\S+)$/m.exec(keys) ?? [];
    expect(link).not.toBe("");
    expect(await onMachine(server, `curl -fsS 'https://gatehouse.example.com${link}'`)).toContain("<html");
    await onMachine(server, deleteKeys);

    const [environment = "", records = "", onGateway = "", onDevice = "", explain = ""] =
      await guideCommands("First resource");
    const printed = await onMachine(server, `${environment}${records}`, key);
    const [, token = ""] = /"token": "([^"]+)"/.exec(printed) ?? [];
    const [, enrolmentKey = ""] = /Enrolment key +(\S+)/.exec(printed) ?? [];

    await atTerminal(gateway, onGateway, { prompt: "Token of the gateway: ", answer: token });
    await onMachine(gateway, applySysctl);
    start(
      gateway,
      `. /etc/gatehouse/gateway.conf && mkdir -p /run/wireguard /var/lib/gatehouse-gateway && exec gatehouse-gateway \
         --url "$GATEHOUSE_URL" --token-file /etc/gatehouse/gateway-token --state-folder /var/lib/gatehouse-gateway`,
    );

    const [installDevice = "", useDevice = ""] = onDevice.split(/^(?=sudo systemctl)/m);
    await onMachine(device, installDevice, enrolmentKey);
    start(device, "mkdir -p /run/wireguard && exec gatehouse-device run --dns off");
    await untilSucceeds(async () => expect(await onMachine(device, useDevice)).toBe("intranet\n"));
    expect(await onMachine(server, `${environment}${explain}`, key)).toContain("Allowed");
    const [doctor = ""] = await guideCommands("Check the installation");
    const findings = await onMachine(server, `${environment}${doctor}`, key);
    expect(findings).toMatch(/^ok +agents /m);
    expect(findings).not.toMatch(/^PROBLEM/m);
  }, 1_200_000);

  /** Runs commands of the guide as root, in the folder that the packages were copied to. */
  async function onMachine(root: DebianRoot, commands: string, input = ""): Promise<string> {
    await writeCommands(root, commands);
    await writeFile(root.path("root/input"), input === "" ? "" : `${input}\n`);
    return root.run("sh", "-c", "exec sh /root/commands </root/input");
  }

  /** Runs commands that ask a question on the terminal, and answers it. */
  async function atTerminal(
    root: DebianRoot,
    commands: string,
    { prompt, answer }: { readonly prompt: string; readonly answer: string },
  ): Promise<void> {
    // The script(1) of Debian 12 never ends if sudo opens another terminal. Root needs no sudo.
    await writeCommands(root, commands.replaceAll("sudo ", ""));
    const child = root.start("script", "--quiet", "--return", "--command", "sh /root/commands", "/dev/null");
    running.push(child);
    let printed = "";
    let isAnswered = false;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text) => {
        printed += String(text);
        if (isAnswered || !printed.includes(prompt)) return;
        isAnswered = true;
        child.stdin?.write(`${answer}\n`);
      });
    }
    const [code] = await once(child, "close");
    expect({ code, isAnswered, printed }).toMatchObject({ code: 0, isAnswered: true });
    expect(printed).not.toContain(answer);
  }

  async function writeCommands(root: DebianRoot, commands: string): Promise<void> {
    const text = commands.replaceAll("apt-get install", "apt-get install -y -q");
    await writeFile(root.path("root/commands"), `set -e\ncd /root\n${text}`);
  }

  /** @returns a function that stops the program */
  function start(root: DebianRoot, commands: string): () => Promise<void> {
    const child = root.start("sh", "-c", commands);
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += String(text)));
    running.push(child);
    return async () => {
      const closed = once(child, "close");
      await must("pkill", ["-TERM", "--parent", String(child.pid)]);
      await closed;
    };
  }

  async function untilSucceeds(work: () => Promise<unknown>): Promise<void> {
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
      .catch(() => {
        throw new Error(`${String(reason)}\n${output.slice(-8_000)}`);
      });
  }
});

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
