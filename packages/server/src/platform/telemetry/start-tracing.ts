/** Loads OpenTelemetry only if it is configured. */
import type { Tracing } from "./tracing.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the variables of OpenTelemetry's specification enable traces. */
function isConfigured(environment: Environment): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === "true" || environment.OTEL_TRACES_EXPORTER === "none")
    return false;
  return Boolean(environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/** Starts tracing; undefined if tracing is not configured. */
export async function startTracing(environment: Environment): Promise<Tracing | undefined> {
  if (!isConfigured(environment)) return undefined;
  const { openTracing } = await import("./open-telemetry.ts");
  return openTracing();
}
