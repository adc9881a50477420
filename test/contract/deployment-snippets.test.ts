import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  gatewaySnippets,
  snippetKinds,
  tokenUpdateKinds,
  tokenUpdateSnippets,
} from "@gatehouse/contract/deployment-snippets";
import { version } from "@gatehouse/contract/version";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
/** Runs a shell command in its own folder, with the bodies of shell scripts in place of programs. */
function runIn(command: string, programs: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(path.join(tmpdir(), "gatehouse-snippet-"));
  try {
    const bin = path.join(folder, "bin");
    const work = path.join(folder, "work");
    for (const each of [bin, work]) mkdirSync(each);
    for (const [name, body] of Object.entries(programs)) {
      writeFileSync(path.join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    }
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const { status, stdout } = spawnSync("/bin/sh", ["-c", command], { cwd: work, env, encoding: "utf8" });
    const files = readdirSync(work).map((name) => {
      const file = path.join(work, name);
      const mode = (statSync(file).mode & 0o777).toString(8);
      return [name, { content: readFileSync(file, "utf8"), mode }] as const;
    });
    return { status, stdout, files: Object.fromEntries(files) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const options = { url: "https://gatehouse.example.com", token: "TOKEN" };

describe("the snippets that deploy a gateway", () => {
  test.each(snippetKinds)("the documents show the snippet for %s", (kind) => {
    expect(read("docs/gateway.md")).toContain(gatewaySnippets[kind](options).trimEnd());
  });

  test.each(["debian", "debianFile", "container", "helm", "checkout"] as const)(
    "the snippet for %s is a shell command",
    (kind) => {
      const { status, stderr } = spawnSync("sh", ["-n"], { input: gatewaySnippets[kind](options), encoding: "utf8" });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    },
  );

  test("the snippet for cloud-init writes the token for root only, even if it looks like a number", () => {
    const text = gatewaySnippets.cloudInit({ ...options, token: "12e3" });
    expect(text).toMatch(/^#cloud-config\n/);
    const { write_files: files, runcmd } = parse(text);
    expect(files).toEqual([{ path: "/etc/gatehouse/gateway-token", permissions: "0600", content: "12e3" }]);
    expect(runcmd[0]).toMatch(/^curl .*--retry 10 --retry-all-errors .*\/install\/gateway && sh /);
    expect(runcmd[0]).toContain(`--token-file ${files[0].path}`);
  });

  test.each(["debian", "cloudInit"] as const)("the snippet for %s fails if the script cannot be downloaded", (kind) => {
    const text = gatewaySnippets[kind](options);
    const command: string = kind === "debian" ? text : parse(text).runcmd[0];
    const { status, stdout } = runIn(command, { curl: "exit 22", sudo: 'echo "$@"', sh: 'echo "$@"' });
    expect({ status, stdout }).toEqual({ status: 22, stdout: "" });
  });

  test("the snippet for a checkout runs the agent of this repository as root, with a private token", () => {
    const text = gatewaySnippets.checkout(options);
    const { status, stdout, files } = runIn(text, { sudo: 'echo "$@"' });
    expect(status).toBe(0);
    expect(files).toEqual({ "gatehouse-gateway.token": { content: "TOKEN", mode: "600" } });
    const named = [...stdout.matchAll(/packages\/gateway\/[\w./-]+/g)].map(([file]) => file);
    expect(named).toHaveLength(2);
    for (const file of named) expect(read(file)).not.toBe("");
  });

  test("the snippet for a package's file starts nothing if the package is absent", () => {
    const { status, stdout } = runIn(gatewaySnippets.debianFile(options), { sudo: '[ "$1" != apt-get ] && echo "$@"' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  });

  test("containers get a token file of root, without a final newline", () => {
    const command = gatewaySnippets.container(options);
    const { status, files } = runIn(command, { sudo: 'case $1 in install) exec "$@" ;; esac' });
    expect(status).toBe(0);
    expect(files).toEqual({ "gatehouse-gateway.token": { content: "TOKEN", mode: "600" } });
    const [first] = command.split(" &&");
    expect(first).toContain("| sudo install -m 600 ");
    expect(gatewaySnippets.compose(options).split("\n")[0]).toBe(`# First: ${first}`);
  });

  test("Helm's secret comes from a private file, and no program's arguments contain the token", () => {
    const { status, stdout, files } = runIn(gatewaySnippets.helm(options), { kubectl: 'echo "$@"', helm: 'echo "$@"' });
    expect(status).toBe(0);
    expect(stdout).toContain("--from-file=token=gatehouse-gateway.token");
    expect(stdout).not.toContain("TOKEN");
    expect(files).toEqual({ "gatehouse-gateway.token": { content: "TOKEN", mode: "600" } });
  });

  test("Compose runs the container with the limits of the command", () => {
    const { gateway } = parse(gatewaySnippets.compose(options)).services;
    const command = gatewaySnippets.container(options);
    expect(gateway).toMatchObject({ read_only: true, network_mode: "host", cap_drop: ["ALL"] });
    for (const capability of gateway.cap_add) expect(command).toContain(`--cap-add ${capability}`);
    expect(gateway.cap_add).toHaveLength(command.split("--cap-add").length - 1);
    expect(command).toContain(`${gateway.image} ${gateway.command.join(" ")}`);
    expect(gateway.volumes).toHaveLength(command.split("--volume").length - 1);
    const folder = "/run/gatehouse-gateway";
    expect(gateway.volumes).toContain(`${folder}:${folder}`);
    expect(command).toContain(`--volume ${folder}:${folder} `);
    expect(command).toContain(`'d ${folder} 0700'`);
  });

  test("Helm sets values that the chart has", () => {
    const values = parse(read("packaging/helm/gatehouse/values.yaml"));
    const set = [...gatewaySnippets.helm(options).matchAll(/(?:--set |,)([\w.]+)=/g)].map(([, name = ""]) => name);
    expect(set).toEqual(["server.enabled", "gateway.enabled", "gateway.url", "gateway.tokenSecret"]);
    for (const name of set) {
      const [group = "", key = ""] = name.split(".");
      expect(values[group], name).toHaveProperty(key);
    }
  });

  test("name images of this version", () => {
    expect(JSON.parse(read("package.json"))).toMatchObject({ version });
    const { gatehouse } = parse(read("packaging/compose/compose.yaml")).services;
    expect(gatehouse.image).toBe(`localhost/gatehouse:${version}`);
    expect(gatewaySnippets.compose(options)).toContain(`localhost/gatehouse-gateway:${version}`);
  });
});

describe("the snippets that update a gateway's token", () => {
  test.each(tokenUpdateKinds)("the documents show the snippet for %s, which is a shell command", (kind) => {
    const text = tokenUpdateSnippets[kind](options);
    expect(read("docs/gateway.md")).toContain(text);
    const { status, stderr } = spawnSync("sh", ["-n"], { input: text, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    // A new token is no new installation.
    expect(text).not.toMatch(/apt-get|curl|helm/);
  });

  test("Debian gets the file that the service reads, and restarts the service", () => {
    const text = tokenUpdateSnippets.debian(options);
    expect(read("packages/gateway/systemd/gatehouse-gateway.service")).toContain(
      "LoadCredential=token:/etc/gatehouse/",
    );
    const { stdout } = runIn(text, { sudo: 'echo "$@"; [ "$1" != install ] || cat' });
    expect(stdout).toBe(
      "install -m 600 /dev/stdin /etc/gatehouse/gateway-token\nTOKENsystemctl restart gatehouse-gateway\n",
    );
  });

  test("the container restarts with its own image and address", () => {
    const text = tokenUpdateSnippets.container(options);
    const programs = { sudo: 'exec "$@"', podman: 'echo "$@"' };
    const { stdout, files } = runIn(text, programs);
    expect(stdout).toBe("restart gatehouse-gateway\n");
    expect(files).toEqual({ "gatehouse-gateway.token": { content: "TOKEN", mode: "600" } });
    expect(gatewaySnippets.container(options)).toContain(" --name gatehouse-gateway ");
    // The gateway may have another version than the server, or an image from another registry.
    expect(text).toBe(tokenUpdateSnippets.container({ ...options, url: "https://other.example.com" }));
    expect(text).not.toContain("localhost/");
  });

  test("Compose restarts the container", () => {
    const programs = { sudo: 'exec "$@"', docker: 'echo "$@"' };
    const { stdout, files } = runIn(tokenUpdateSnippets.compose(options), programs);
    expect(stdout).toBe("compose restart gateway\n");
    expect(files).toEqual({ "gatehouse-gateway.token": { content: "TOKEN", mode: "600" } });
    expect(parse(gatewaySnippets.compose(options)).services).toHaveProperty("gateway");
  });

  test("the secret of Kubernetes is replaced, and the pod of the chart is restarted", () => {
    const { status, stdout } = runIn(tokenUpdateSnippets.helm(options), {
      kubectl: 'case $1 in create) echo "$@" ;; apply) echo "$@"; cat ;; *) echo "$@" ;; esac',
    });
    expect(status).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "apply --filename -",
      "create secret generic gatehouse-gateway --from-file=token=gatehouse-gateway.token --dry-run=client --output yaml",
      "rollout restart deployment/gatehouse-gateway-gateway",
      "",
    ]);
    // The names that the chart makes of the release of the first command.
    expect(gatewaySnippets.helm(options)).toContain("helm upgrade --install gatehouse-gateway ");
    expect(read("packaging/helm/gatehouse/templates/gateway.yaml")).toContain(
      'name: {{ include "gatehouse.name" . }}-gateway',
    );
    expect(parse(read("packaging/helm/gatehouse/values.yaml")).gateway.kind).toBe("Deployment");
  });
});
