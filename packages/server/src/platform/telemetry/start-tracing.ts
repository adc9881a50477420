/** Loads OpenTelemetry only if it is configured. */
import type { Tracing } from "./tracing.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the variables of OpenTelemetry's specification enable traces. */
function isConfigured(environment: Environment): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === "true" || environment.OTEL_TRACES_EXPORTER === "none")
    return false;
  return Boolean(environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/** The protocol to the collector, as OpenTelemetry's specification selects it. */
function protocolOf(environment: Environment): string {
  return environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || environment.OTEL_EXPORTER_OTLP_PROTOCOL || "http/protobuf";
}

/**
 * Starts tracing; undefined if tracing is not configured.
 *
 * @throws Error if the configured protocol is not supported
 */
export async function startTracing(environment: Environment): Promise<Tracing | undefined> {
  if (!isConfigured(environment)) return undefined;
  const { openTracing } = await import("./open-telemetry.ts");
  return openTracing(protocolOf(environment));
}
