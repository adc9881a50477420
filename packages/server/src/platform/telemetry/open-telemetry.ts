/**
 * OpenTelemetry traces, sent with OTLP over HTTP. The libraries read the OTEL_… variables themselves. Spans are
 * propagated with Gatehouse's own AsyncLocalStorage, and nothing is registered globally.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { RequestOutcome } from "./request-outcome.ts";
import type { RequestSpan, Tracing } from "./tracing.ts";

/** How long a stop waits for the collector, in milliseconds. */
const closeTimeoutMs = 3_000;

const headerGetter = {
  get: (headers: Readonly<Record<string, unknown>>, name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  },
  keys: (headers: Readonly<Record<string, unknown>>) => Object.keys(headers),
};

/**
 * Opens the exporter for a protocol of OpenTelemetry's specification. The default is protobuf.
 *
 * @throws Error for a protocol that Gatehouse does not support
 */
async function openExporter(protocol: string): Promise<SpanExporter> {
  switch (protocol) {
    case "http/protobuf": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
      return new OTLPTraceExporter();
    }
    case "http/json": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
      return new OTLPTraceExporter();
    }
    default:
      throw new Error(
        `OTEL_EXPORTER_OTLP_PROTOCOL is ${JSON.stringify(protocol)}. Use "http/protobuf" or "http/json".`,
      );
  }
}

/** This module is as deep below the package's folder in `src` as in `dist`. */
const packageFile = new URL("../../../package.json", import.meta.url);

/** Attributes of the replica that sends spans. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence. */
async function ownResource(): Promise<Resource> {
  const { version }: { readonly version: string } = JSON.parse(await readFile(packageFile, "utf8"));
  const attributes = {
    "service.name": "gatehouse",
    "service.version": version,
    // A new id for each process, so that replicas on one host differ.
    "service.instance.id": randomUUID(),
    "host.name": hostname(),
    "host.arch": process.arch,
    "os.type": process.platform,
    "process.pid": process.pid,
    "process.runtime.name": "nodejs",
    "process.runtime.version": process.versions.node,
  };
  return defaultResource()
    .merge(resourceFromAttributes(attributes))
    .merge(detectResources({ detectors: [envDetector] }));
}

/**
 * @param protocol the protocol to the collector: http/protobuf or http/json
 * @throws Error for another protocol
 */
export async function openTracing(protocol: string): Promise<Tracing> {
  const provider = new BasicTracerProvider({
    resource: await ownResource(),
    spanProcessors: [new BatchSpanProcessor(await openExporter(protocol))],
  });
  const tracer = provider.getTracer("gatehouse");
  const propagator = new W3CTraceContextPropagator();
  const current = new AsyncLocalStorage<Span>();
  return {
    startRequest(method, headers) {
      const parent = propagator.extract(ROOT_CONTEXT, headers, headerGetter);
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, parent);
      return requestSpan(span, current);
    },
    startQuery: (name) => startQuery(tracer, current.getStore(), name),
    async close() {
      const sent = provider.shutdown().catch(() => undefined);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, closeTimeoutMs);
      });
      await Promise.race([sent, late]);
      clearTimeout(timer);
    },
  };
}

function requestSpan(span: Span, current: AsyncLocalStorage<Span>): RequestSpan {
  return {
    run: (work) => current.run(span, work),
    end(outcome) {
      span.updateName(`${outcome.method} ${outcome.route}`);
      span.setAttributes(attributesOf(outcome));
      if (outcome.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** Uses the names of OpenTelemetry's semantic conventions if there are any. */
function attributesOf({ requestId, method, route, status, tenantId, actorId, code }: RequestOutcome) {
  return {
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "gatehouse.request_id": requestId,
    ...(tenantId === undefined ? {} : { "gatehouse.tenant_id": tenantId }),
    ...(actorId === undefined ? {} : { "gatehouse.actor_id": actorId }),
    ...(code === undefined ? {} : { "error.type": code }),
  };
}

function startQuery(tracer: Tracer, parent: Span | undefined, name: string): ReturnType<Tracing["startQuery"]> {
  if (parent === undefined) return undefined;
  const attributes = { "db.system.name": "postgresql", "db.query.summary": name };
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, trace.setSpan(ROOT_CONTEXT, parent));
  return (error) => {
    // The error's message can quote values.
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };
}
