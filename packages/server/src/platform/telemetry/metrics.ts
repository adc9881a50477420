/**
 * Prometheus metrics. Loaded only if metrics are enabled. Every label has few values, regardless of what callers send.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { ServedCertificate } from "../served-certificate.ts";
import type { RequestOutcome } from "./request-outcome.ts";

export interface CacheState {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
}

/** Sources of figures that other modules maintain. All of them are counters, except sizes and the lag. */
export interface MetricSources {
  readonly pool: () => { readonly size: number; readonly idle: number; readonly waiting: number };
  /** The number of audit records that contradict a signed head. */
  readonly auditContradictions: () => number;
  /** The time since this replica last knew all changes, in milliseconds. */
  readonly outboxLagMs: () => number;
  readonly caches: Readonly<Record<string, () => CacheState>>;
  /** The number of open live streams of the audit record. */
  readonly eventStreams: () => number;
  /** The number of connected gateways, and of those that have not applied their configuration. */
  readonly gatewayLinks: () => { readonly connections: number; readonly unsettled: number };
  /** The number of connected devices, and of those that have not applied their configuration. */
  readonly deviceLinks: () => { readonly connections: number; readonly unsettled: number };
  /** The certificate that the server presents; undefined for plain HTTP. */
  readonly tlsCertificate: () => Pick<ServedCertificate, "source" | "validTo"> | undefined;
}

/** The results of an attempt to deliver a webhook message. */
export const attemptResults = ["delivered", "retried", "given-up"] as const;
export type AttemptResult = (typeof attemptResults)[number];

export interface Metrics {
  readonly contentType: string;
  requestStarted(): void;
  requestEnded(outcome: RequestOutcome): void;
  auditEntriesWritten(count: number): void;
  webhookAttempted(result: AttemptResult): void;
  /** Records that a gateway applied its configuration, with the lag in milliseconds. */
  configurationApplied(lagMs: number): void;
  /** Records a failed run of a background task. */
  taskFailed(task: string): void;
  /** All metrics in the Prometheus text format. */
  text(): Promise<string>;
}

/** From half a millisecond, which a cached record takes, to the database's time limit, in seconds. */
const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

const rateLimitOf: Readonly<Record<string, string>> = {
  rate_limited: "key",
  too_many_failed_authentications: "address",
};
const rejections = new Set(["missing_api_key", "invalid_api_key", "source_address_not_allowed"]);

/** Default gauges with the suffix of counters. The metrics without the suffix have the same figures by type. */
const misnamedMetrics = ["handles", "requests", "resources"].map((noun) => `nodejs_active_${noun}_total`);

export function openMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedMetrics) registry.removeSingleMetric(name);
  const durations = new Histogram({
    name: "gatehouse_http_request_duration_seconds",
    help: "Duration of requests by method, route template and status.",
    labelNames: ["method", "route", "status"],
    buckets: durationBuckets,
    registers,
  });
  const inFlight = new Gauge({
    name: "gatehouse_http_requests_in_flight",
    help: "Requests in progress.",
    registers,
  });
  const limited = new Counter({
    name: "gatehouse_rate_limited_requests_total",
    help: "Requests rejected with 429, by the exceeded limit: key or address.",
    labelNames: ["limit"],
    registers,
  });
  const rejected = new Counter({
    name: "gatehouse_rejected_authentications_total",
    help: "Failed authentications by error code.",
    labelNames: ["code"],
    registers,
  });
  const auditEntries = new Counter({
    name: "gatehouse_audit_entries_total",
    help: "Audit entries written by this replica.",
    registers,
  });
  const attempts = new Counter({
    name: "gatehouse_webhook_attempts_total",
    help: "Attempts of this replica to deliver webhook messages, by result.",
    labelNames: ["result"],
    registers,
  });
  const configurationLags = new Histogram({
    name: "gatehouse_gateway_configuration_lag_seconds",
    help: "Time until a gateway confirmed its configuration.",
    buckets: durationBuckets,
    registers,
  });
  const taskFailures = new Counter({
    name: "gatehouse_task_failures_total",
    help: "Failed runs of background tasks, by task.",
    labelNames: ["task"],
    registers,
  });
  // Initialized, so that alerts on increases see the first event.
  for (const limit of Object.values(rateLimitOf)) limited.inc({ limit }, 0);
  for (const code of rejections) rejected.inc({ code }, 0);
  for (const result of attemptResults) attempts.inc({ result }, 0);
  gaugesOf(sources, registers);
  return {
    contentType: registry.contentType,
    requestStarted: () => inFlight.inc(),
    requestEnded({ method, route, status, durationMs, code }) {
      inFlight.dec();
      durations.observe({ method, route, status }, durationMs / 1000);
      if (code === undefined) return;
      const limit = rateLimitOf[code];
      if (limit !== undefined) limited.inc({ limit });
      if (rejections.has(code)) rejected.inc({ code });
    },
    auditEntriesWritten: (count) => auditEntries.inc(count),
    webhookAttempted: (result) => attempts.inc({ result }),
    configurationApplied: (lagMs) => configurationLags.observe(lagMs / 1000),
    taskFailed: (task) => taskFailures.inc({ task }),
    text: () => registry.metrics(),
  };
}

/** Gauges whose values are collected on each scrape. */
function gaugesOf(
  {
    pool,
    auditContradictions,
    outboxLagMs,
    caches,
    eventStreams,
    gatewayLinks,
    deviceLinks,
    tlsCertificate,
  }: MetricSources,
  registers: Registry[],
): void {
  new Gauge({
    name: "gatehouse_database_connections",
    help: "Database connections by state.",
    labelNames: ["state"],
    registers,
    collect() {
      const { size, idle } = pool();
      this.set({ state: "idle" }, idle);
      this.set({ state: "used" }, size - idle);
    },
  });
  new Gauge({
    name: "gatehouse_database_requests_waiting",
    help: "Transactions waiting for a connection.",
    registers,
    collect() {
      this.set(pool().waiting);
    },
  });
  new Gauge({
    name: "gatehouse_audit_contradictions",
    help: "Audit records that contradict a head that was signed. They are not signed any more.",
    registers,
    collect() {
      this.set(auditContradictions());
    },
  });
  new Gauge({
    name: "gatehouse_outbox_lag_seconds",
    help: "Time since this replica last knew the changes of all replicas.",
    registers,
    collect() {
      this.set(outboxLagMs() / 1000);
    },
  });
  new Gauge({
    name: "gatehouse_event_streams",
    help: "Open live streams of audit records.",
    registers,
    collect() {
      this.set(eventStreams());
    },
  });
  new Gauge({
    name: "gatehouse_gateway_links",
    help: "Gateways connected to this replica.",
    registers,
    collect() {
      this.set(gatewayLinks().connections);
    },
  });
  new Gauge({
    name: "gatehouse_gateway_links_unsettled",
    help: "Gateways connected to this replica that have not applied their configuration yet.",
    registers,
    collect() {
      this.set(gatewayLinks().unsettled);
    },
  });
  new Gauge({
    name: "gatehouse_device_links",
    help: "Devices connected to this replica.",
    registers,
    collect() {
      this.set(deviceLinks().connections);
    },
  });
  new Gauge({
    name: "gatehouse_device_links_unsettled",
    help: "Devices connected to this replica that have not applied their configuration yet.",
    registers,
    collect() {
      this.set(deviceLinks().unsettled);
    },
  });
  new Gauge({
    name: "gatehouse_tls_certificate_expiry_seconds",
    help: "End of the certificate's validity period in Unix time, by source; 0 before the first certificate.",
    labelNames: ["source"],
    registers,
    collect() {
      const certificate = tlsCertificate();
      if (certificate === undefined) return;
      this.set({ source: certificate.source }, (certificate.validTo?.getTime() ?? 0) / 1000);
    },
  });
  new Gauge({
    name: "gatehouse_cache_entries",
    help: "Cache entries by cache.",
    labelNames: ["cache"],
    registers,
    collect() {
      for (const [cache, state] of Object.entries(caches)) this.set({ cache }, state().entries);
    },
  });
  new Counter({
    name: "gatehouse_cache_lookups_total",
    help: "Cache lookups by cache and result.",
    labelNames: ["cache", "result"],
    registers,
    collect() {
      this.reset();
      for (const [cache, state] of Object.entries(caches)) {
        const { hits, misses } = state();
        this.inc({ cache, result: "hit" }, hits);
        this.inc({ cache, result: "miss" }, misses);
      }
    },
  });
}
