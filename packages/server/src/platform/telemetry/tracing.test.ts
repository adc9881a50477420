import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startTestServer } from "../../testing/test-server.ts";
import { startTracing } from "./start-tracing.ts";

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** A fake OpenTelemetry collector. */
let collector: Server;
let received: { readonly path: string; readonly type: string | undefined; readonly body: string }[];
let endpoint: string;

beforeEach(async () => {
  received = [];
  collector = createServer(async (request, response) => {
    received.push({ path: request.url ?? "", type: request.headers["content-type"], body: await text(request) });
    response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`; // it listens on TCP
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  collector.closeAllConnections();
  collector.close();
});

function spansOf(body: string): OtlpSpan[] {
  return JSON.parse(body).resourceSpans.flatMap((resource: { scopeSpans: { spans: OtlpSpan[] }[] }) =>
    resource.scopeSpans.flatMap(({ spans }) => spans),
  );
}

function attribute(span: OtlpSpan | undefined, key: string): unknown {
  return Object.values(span?.attributes.find((candidate) => candidate.key === key)?.value ?? {})[0];
}

test("spans of requests and their queries go to the collector, with ids and without secrets", async () => {
  vi.stubEnv("OTEL_SERVICE_NAME", "gatehouse-test");
  const tracing = await startTracing(process.env);
  const server = await startTestServer({ settings: { tracing } });
  const tenant = await server.newTenant();
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const parentId = "00f067aa0ba902b7";
  const email = "traced@example.com";
  const groups = await tenant.client.get("/tenants/groups");
  const made = await tenant.client.post(
    "/tenants/users",
    { email, groups: [groups.body.data[0].id] },
    { traceparent: `00-${traceId}-${parentId}-01`, "x-request-id": "trace-me" },
  );
  expect(made.status, made.text).toBe(201);
  await server.client("x".repeat(40)).get(`/tenants/users?filter[email]=${email}`);
  await server.close();

  expect(new Set(received.map(({ path }) => path))).toEqual(new Set(["/v1/traces"]));
  const everything = received.map(({ body }) => body).join("\n");
  expect(everything).toContain("gatehouse-test");
  for (const secret of [email, tenant.key, server.operatorKey, "x".repeat(40), "INSERT INTO"]) {
    expect(everything).not.toContain(secret);
  }

  const spans = received.flatMap(({ body }) => spansOf(body));
  const request = spans.find((span) => attribute(span, "gatehouse.request_id") === "trace-me");
  expect(request).toMatchObject({ name: "POST /tenants/users", kind: 2, traceId, parentSpanId: parentId });
  expect(attribute(request, "http.route")).toBe("/tenants/users");
  expect(attribute(request, "gatehouse.tenant_id")).toBe(tenant.id);
  const queries = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
  expect(queries.map(({ name }) => name)).toContain("audit.append_with_effect");
  for (const query of queries) expect(query).toMatchObject({ kind: 3, traceId });

  const refused = spans.find((span) => attribute(span, "error.type") === "invalid_api_key");
  expect(refused).toMatchObject({ name: "GET /tenants/users" });
  expect(
    spans.some(({ name, parentSpanId }) => name === "api_keys.presented" && parentSpanId === refused?.spanId),
  ).toBe(true);
});

test("a malformed traceparent starts a new trace", async () => {
  const tracing = await startTracing(process.env);
  const server = await startTestServer({ settings: { tracing } });
  await server.client(undefined).get("/docs", { traceparent: "00-nonsense-01" });
  await server.close();
  const [span] = received.flatMap(({ body }) => spansOf(body));
  expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(span?.parentSpanId ?? "").toBe("");
});

/** A request that ended. */
const request = {
  requestId: "id",
  method: "GET",
  route: "/docs",
  status: 200,
  durationMs: 1,
  tenantId: undefined,
  actorId: undefined,
  code: undefined,
  aborted: false,
};

test("spans are sent as protobuf by default", async () => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "");
  const tracing = await startTracing(process.env);
  tracing?.startRequest("GET", {}).end(request);
  await tracing?.close();
  expect(received).toMatchObject([{ path: "/v1/traces", type: "application/x-protobuf" }]);
  expect(received[0]?.body).toContain("GET /docs");
});

test("the resource names the service, its version, its instance, the host and the process", async () => {
  vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging,service.instance.id=replica-1");
  const tracing = await startTracing(process.env);
  tracing?.startRequest("GET", {}).end(request);
  await tracing?.close();
  const [{ resource }] = JSON.parse(received[0]?.body ?? "").resourceSpans;
  const attributes = Object.fromEntries(
    resource.attributes.map(({ key, value }: { key: string; value: object }) => [key, Object.values(value)[0]]),
  );
  expect(attributes).toMatchObject({
    "service.name": "gatehouse",
    "service.version": expect.stringMatching(/^\d+\.\d+\.\d+/),
    "service.instance.id": "replica-1",
    "deployment.environment.name": "staging",
    "host.name": expect.any(String),
    "process.pid": process.pid,
    "process.runtime.name": "nodejs",
    "telemetry.sdk.language": "nodejs",
  });
});

test("an unsupported protocol is refused at the start", async () => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
  await expect(startTracing(process.env)).rejects.toThrow('Use "http/protobuf" or "http/json"');
});

test("stopping does not wait for an unavailable collector", async () => {
  collector.close();
  const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  tracing?.startRequest("GET", {}).end(request);
  await tracing?.close();
});

test.each([
  ["no endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  ["the SDK switched off", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_SDK_DISABLED: "true" }],
  ["no exporter for traces", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_TRACES_EXPORTER: "none" }],
])("%s disables tracing", async (_what, environment) => {
  expect(await startTracing(environment)).toBeUndefined();
});
