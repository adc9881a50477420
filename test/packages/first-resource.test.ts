/**
 * docs/deployment.md, word for word, from fresh machines to a reached resource, with nothing but the artefacts: for a
 * server's device, for a person's device, and over an upgrade.
 */
import { createPrivateKey } from "node:crypto";
import { appendFile, copyFile, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildAgentsPackage } from "../../packaging/src/apt-repository/agents-package.ts";
import { chromiumPath, withoutBrowser } from "../chromium.ts";
import { obstacle as networkObstacle } from "../enforcement/namespaces.ts";
import { rootObstacle } from "./debian-root.ts";
import { guideCommands } from "./deployment-guide.ts";
import { GuideMachines } from "./guide-machines.ts";
import { repack } from "./repack.ts";
import { type Artefacts, canSign, testedArtefacts, workspace } from "./tested-release.ts";

const obstacle = rootObstacle() ?? networkObstacle();
if (obstacle !== undefined) console.warn(`The guide to the first resource is not tried: ${obstacle}`);
if (chromiumPath === undefined) console.warn(`Skipping the enrolment by a person: ${withoutBrowser}.`);

const url = "https://gatehouse.example.com";

interface Installation {
  /** The API key of the first start. */
  readonly key: string;
  /** Shell commands that set the address and the key, which they read. */
  readonly environment: string;
  /** The command with which the device reaches the resource. */
  readonly reach: string;
}

describe.skipIf(obstacle !== undefined)("docs/deployment.md", () => {
  const machines = new GuideMachines();
  let artefacts: Artefacts;
  let installing: Promise<Installation> | undefined;
  /** Follows the guide to the first resource. The first test waits for it. */
  const installed = () => {
    installing ??= install();
    return installing;
  };

  beforeAll(async () => {
    artefacts = await testedArtefacts();
    await machines.start();
  }, 3_600_000);

  afterAll(() => machines.remove());

  test("leads from fresh machines to a resource behind a gateway", async () => {
    const { key, environment } = await installed();
    const explain = (await guideCommands("First resource")).at(-1) ?? "";
    expect(await machines.run("server", `${environment}${explain}`, { input: key })).toContain("Allowed");
    const [doctor = ""] = await guideCommands("Check the installation");
    const findings = await machines.run("server", `${environment}${doctor}`, { input: key });
    expect(findings).toMatch(/^ok +agents /m);
    expect(findings).not.toMatch(/^PROBLEM/m);
  }, 1_200_000);

  test.skipIf(chromiumPath === undefined)(
    "lets a person enrol a computer by signing in with a browser",
    async () => {
      const { key, environment, reach } = await installed();
      const [invite = "", onLaptop = ""] = await guideCommands("A person's computer");
      const invited = await machines.run("server", `${environment}${invite}`, { input: key });
      const [, link = ""] = /^ {2}Link +(\S+)$/m.exec(invited) ?? [];
      const page = await machines.page();
      await page.goto(link);
      await page.getByRole("button", { name: "Register passkey" }).click();
      await page.getByRole("heading", { level: 1, name: "My access and devices" }).waitFor();
      await page.getByRole("button", { name: "Account" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in with passkey" }).waitFor();

      const shown = /open this address.*?(https:\S+).*?Key fingerprint +(\S[^\r\n]*\S)\r?\n/s;
      const onScreen = await machines.atTerminal("laptop", onLaptop, {
        prompt: shown,
        answer: async ([, address = "", fingerprint = ""]) => {
          await page.goto(address);
          await page.getByRole("button", { name: "Sign in with passkey" }).click();
          await page.getByRole("button", { name: "Continue" }).click();
          await page.getByText(fingerprint).waitFor();
          await page.getByRole("button", { name: "Approve" }).click();
          await page.getByRole("heading", { name: "Approved" }).waitFor();
          return undefined;
        },
      });
      expect(onScreen).toContain("gatehouse-device is running.");
      expect(await machines.run("laptop", reach)).toBe("intranet\n");
      await page.context().close();
    },
    1_200_000,
  );

  test.skipIf(!canSign)(
    "upgrades the server, and the agents from the server, without losing access",
    async () => {
      const { key, environment, reach } = await installed();
      const { folder, version, privateKey } = artefacts;
      const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
      await mkdir(machines.root("server").path("root/next"));
      const target = machines.root("server").path("root/next");
      await repack(
        path.join(folder, `gatehouse_${version}_amd64.deb`),
        next,
        path.join(target, `gatehouse_${next}_amd64.deb`),
      );
      const agents = ["gatehouse-gateway", "gatehouse-device"].map((name) => `${name}_${next}_amd64.deb`);
      for (const file of agents)
        await repack(path.join(folder, file.replace(next, version)), next, path.join(target, file));
      await buildAgentsPackage({
        ...{ workspace, version: next, time: Math.floor(Date.now() / 1000), output: target },
        privateKey: createPrivateKey(await readFile(privateKey ?? "")),
        packages: agents.map((file) => ({ file: path.join(target, file), architecture: "amd64" })),
      });
      const settings = await machines.run("server", "cat /etc/gatehouse/gatehouse.conf");
      const versions = "dpkg --list 'gatehouse*' | awk '/^ii/ { print $3 }'";

      const [onServer = "", onAgents = ""] = await guideCommands("Upgrades");
      await machines.run("server", onServer, { folder: "/root/next" });
      await machines.untilSucceeds(() => machines.run("server", `curl -fsS ${url}/readyz`));
      expect(await machines.run("server", versions)).toBe(`${next}\n${next}\n`);
      expect(await machines.run("server", "cat /etc/gatehouse/gatehouse.conf")).toBe(settings);
      for (const role of ["gateway", "device"] as const) {
        await machines.run(role, onAgents);
        expect(await machines.run(role, versions), role).toBe(`${next}\n`);
        expect(await machines.run(role, `systemctl is-active gatehouse-${role}`)).toBe("active\n");
      }

      expect(await machines.run("device", reach)).toBe("intranet\n");
      const [doctor = ""] = await guideCommands("Check the installation");
      expect(await machines.run("server", `${environment}${doctor}`, { input: key })).not.toMatch(/^PROBLEM/m);
    },
    1_200_000,
  );

  test("restores a backup of the server, and the gateway enforces later changes", async () => {
    const { key, environment, reach } = await installed();
    const run = (commands: string) => machines.run("server", `${environment}${commands}`, { input: key });
    const call = `curl -fsS -H "apikey: $GATEHOUSE_API_KEY" -H 'content-type: application/json'`;
    const isReady = () => machines.untilSucceeds(() => machines.run("server", `curl -fsS ${url}/readyz`));
    const [backUp = "", restore = ""] = await guideCommands("Backup");
    await machines.run("server", backUp);
    await isReady();
    await run(`${call} --data '{ "name": "Later" }' ${url}/tenants/groups`);

    await machines.run("server", restore);
    await isReady();

    expect(await run(`${call} ${url}/tenants/groups`)).not.toContain('"Later"');
    expect(await machines.run("server", "gatehouse audit verify")).not.toMatch(/fail|contradict/i);
    const users: { data: { id: string; email: string }[] } = JSON.parse(await run(`${call} ${url}/tenants/users`));
    const ann = users.data.find(({ email }) => email === "ann@example.com")?.id;
    const change = (method: string, operation: string) =>
      run(`${call} --request ${method} --include '${url}/tenants/users/${ann}/${operation}?wait=applied'`);
    await machines.untilSucceeds(async () =>
      expect(await change("PATCH", "deactivate")).toMatch(/^gatehouse-enforced: applied/im),
    );
    await expect(machines.run("device", "curl --fail --max-time 5 http://10.80.0.11/")).rejects.toThrow("curl");
    expect(await change("POST", "reactivate")).toMatch(/^gatehouse-enforced: applied/im);
    expect(await machines.run("device", reach)).toBe("intranet\n");
  }, 1_200_000);

  // The last test: afterwards, the device is no longer installed.
  test("removes an agent with everything that it installed", async () => {
    await installed();
    const [remove = ""] = await guideCommands("Packages for agents");
    await machines.run("device", remove);
    expect(
      await machines.run("device", "apt-get update && ip -brief link && ls /etc/apt/sources.list.d /var/lib"),
    ).not.toMatch(/gatehouse/);
  }, 600_000);

  async function install(): Promise<Installation> {
    const { folder, version } = artefacts;
    const server = machines.root("server");
    for (const name of [`gatehouse_${version}_amd64.deb`, `gatehouse-agents_${version}_all.deb`]) {
      await copyFile(path.join(folder, name), server.path(`root/${name}`));
    }
    const [installPackages = "", showKeys = "", deleteKeys = ""] = await guideCommands("One machine in five minutes");
    await machines.run("server", installPackages);
    await machines.untilSucceeds(() => machines.run("server", "curl -fsS http://127.0.0.1:8080/readyz"));

    const [installCertificate = "", settings = ""] = await guideCommands("TLS");
    await machines.run("server", installCertificate);
    await appendFile(server.path("etc/gatehouse/gatehouse.conf"), settings);
    await machines.run("server", "sudo systemctl restart gatehouse");
    await machines.untilSucceeds(() => machines.run("server", `curl -fsS ${url}/readyz`));
    const keys = await machines.run("server", showKeys);
    const [, key = ""] = /API key +(\S+)/.exec(keys) ?? [];
    const [, link = ""] = /^ {2}http:\/\/localhost:8080(\/console\/enrol\S+)$/m.exec(keys) ?? [];
    expect(link).not.toBe("");
    expect(await machines.run("server", `curl -fsS '${url}${link}'`)).toContain("<html");
    await machines.run("server", deleteKeys);

    const [environment = "", records = "", onGateway = "", onDevice = ""] = await guideCommands("First resource");
    const printed = await machines.run("server", `${environment}${records}`, { input: key });
    const [, token = ""] = /"token": "([^"]+)"/.exec(printed) ?? [];
    const [, enrolmentKey = ""] = /Enrolment key +(\S+)/.exec(printed) ?? [];

    const onScreen = await machines.atTerminal("gateway", onGateway, {
      prompt: /Token of the gateway: /,
      answer: () => token,
    });
    expect(onScreen).not.toContain(token);
    expect(await machines.run("gateway", "cat /proc/sys/net/ipv4/conf/all/forwarding")).toBe("1\n");

    const ofDevice = await machines.run("device", onDevice, { input: enrolmentKey });
    expect(ofDevice).toContain("To connect:       sudo systemctl start gatehouse-device\n");
    expect(ofDevice).toMatch(/\nintranet\n$/);
    return { key, environment, reach: onDevice.trimEnd().split("\n").at(-1) ?? "" };
  }
});
