/**
 * docs/deployment.md, word for word, from three fresh machines to a reached resource, with nothing but the artefacts:
 *
 *     server ──┐
 *     device ──┤ public ── gateway ── office ── web server, 10.80.0.11
 *
 * Machines are Debian roots in network namespaces, and run systemd. The server's certificate comes from an authority of
 * the test, which the machines trust.
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

describe.skipIf(obstacle !== undefined)("docs/deployment.md", () => {
  const namespaces = new Namespaces();
  const roots: DebianRoot[] = [];
  const running: ChildProcess[] = [];
  let server: DebianRoot;
  let gateway: DebianRoot;
  let device: DebianRoot;

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
      await root.boot();
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
    for (const root of roots) await root.remove();
    namespaces.remove();
  });

  test("leads from fresh machines to a resource behind a gateway", async () => {
    const [install = "", showKeys = "", deleteKeys = ""] = await guideCommands("One machine in five minutes");
    await onMachine(server, install);
    await untilSucceeds(() => onMachine(server, "curl -fsS http://127.0.0.1:8080/readyz"));

    const [installCertificate = "", settings = ""] = await guideCommands("TLS");
    await onMachine(server, installCertificate);
    await appendFile(server.path("etc/gatehouse/gatehouse.conf"), settings);
    await onMachine(server, "sudo systemctl restart gatehouse");
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
    expect(await onMachine(gateway, "cat /proc/sys/net/ipv4/conf/all/forwarding")).toBe("1\n");

    const onScreen = await onMachine(device, onDevice, enrolmentKey);
    expect(onScreen).toContain("To connect:       sudo systemctl start gatehouse-device\n");
    expect(onScreen).toMatch(/\nintranet\n$/);
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
      .catch(async () => {
        const logs = await Promise.all(roots.map((root) => root.run("journalctl", "--no-pager", "--lines=60")));
        throw new Error([String(reason), ...logs].join("\n"));
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
