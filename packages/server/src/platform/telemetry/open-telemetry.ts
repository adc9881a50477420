/**
 * OpenTelemetry traces, sent with OTLP over HTTP. The libraries read the OTEL_… variables themselves. Spans are
 * propagated with Gatehouse's own AsyncLocalStorage, and nothing is registered globally.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
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

export function openTracing(): Tracing {
  const provider = new BasicTracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "gatehouse" }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
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
