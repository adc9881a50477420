import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gatewaySnippets, snippetKinds } from "@gatehouse/contract/deployment-snippets";
import { version } from "@gatehouse/contract/version";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const options = { url: "https://gatehouse.example.com", token: "TOKEN" };

describe("the snippets that deploy a gateway", () => {
  test.each(snippetKinds)("the documents show the snippet for %s", (kind) => {
    expect(read("docs/gateway.md")).toContain(gatewaySnippets[kind](options).trimEnd());
  });

  test.each(["debian", "container", "helm"] as const)("the snippet for %s is a shell command", (kind) => {
    const { status, stderr } = spawnSync("sh", ["-n"], { input: gatewaySnippets[kind](options), encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("the snippet for cloud-init writes the token for root only, also if it looks like a number", () => {
    const text = gatewaySnippets.cloudInit({ ...options, token: "12e3" });
    expect(text).toMatch(/^#cloud-config\n/);
    const { write_files: files, runcmd } = parse(text);
    expect(files).toEqual([{ path: "/etc/gatehouse/gateway-token", permissions: "0600", content: "12e3" }]);
    expect(runcmd[0]).toContain(`${options.url}/install/gateway | sh -s -- --token-file ${files[0].path}`);
  });

  test("Compose runs the container with the limits of the command", () => {
    const { gateway } = parse(gatewaySnippets.compose(options)).services;
    const command = gatewaySnippets.container(options);
    expect(gateway).toMatchObject({ read_only: true, network_mode: "host", cap_drop: ["ALL"] });
    for (const capability of gateway.cap_add) expect(command).toContain(`--cap-add ${capability}`);
    expect(gateway.cap_add).toHaveLength(command.split("--cap-add").length - 1);
    expect(command).toContain(`${gateway.image} ${gateway.command.join(" ")}`);
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
