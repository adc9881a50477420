/** What Prometheus is told. Loaded only where metrics are switched on. Every label has few values, whatever callers send. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RequestOutcome } from "./request-outcome.ts";

export interface CacheState {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
}

/** Where figures come from that others keep. All of them only rise, but for sizes and the lag. */
export interface MetricSources {
  readonly pool: () => { readonly size: number; readonly idle: number; readonly waiting: number };
  /** How long ago this replica last knew all changes, in milliseconds. */
  readonly outboxLagMs: () => number;
  readonly caches: Readonly<Record<string, () => CacheState>>;
  /** How many live streams of the audit record are open. */
  readonly eventStreams: () => number;
  /** Connections of gateways, and those of them that do not enforce yet what they should. */
  readonly gatewayLinks: () => { readonly connections: number; readonly unsettled: number };
  /** Connections of devices, and those of them that do not have yet what they should. */
  readonly deviceLinks: () => { readonly connections: number; readonly unsettled: number };
}

/** What came of one attempt to deliver a webhook's message. */
export const attemptResults = ["delivered", "retried", "given-up"] as const;
export type AttemptResult = (typeof attemptResults)[number];

export interface Metrics {
  readonly contentType: string;
  requestStarted(): void;
  requestEnded(outcome: RequestOutcome): void;
  auditEntriesWritten(count: number): void;
  webhookAttempted(result: AttemptResult): void;
  /** A gateway enforces what it should, so long after it should have, in milliseconds. */
  configurationApplied(lagMs: number): void;
  /** A run of a background task, by its name, ended with an error. */
  taskFailed(task: string): void;
  /** Everything, in the text format of Prometheus. */
  text(): Promise<string>;
}

/** From half a millisecond, which a kept record takes, to the database's time limit, in seconds. */
const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

const rateLimitOf: Readonly<Record<string, string>> = {
  rate_limited: "key",
  too_many_failed_authentications: "address",
};
const rejections = new Set(["missing_api_key", "invalid_api_key", "source_address_not_allowed"]);

export function openMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: "gatehouse_http_request_duration_seconds",
    help: "How long requests took, by method, route template and status.",
    labelNames: ["method", "route", "status"],
    buckets: durationBuckets,
    registers,
  });
  const inFlight = new Gauge({
    name: "gatehouse_http_requests_in_flight",
    help: "Requests that are being answered.",
    registers,
  });
  const limited = new Counter({
    name: "gatehouse_rate_limited_requests_total",
    help: "Requests answered 429, by what had reached its limit: the key, or the address.",
    labelNames: ["limit"],
    registers,
  });
  const rejected = new Counter({
    name: "gatehouse_rejected_authentications_total",
    help: "Requests without a key that could be accepted, by error code.",
    labelNames: ["code"],
    registers,
  });
  const auditEntries = new Counter({
    name: "gatehouse_audit_entries_total",
    help: "Audit entries that this replica wrote.",
    registers,
  });
  const attempts = new Counter({
    name: "gatehouse_webhook_attempts_total",
    help: "Attempts to deliver webhooks' messages that this replica made, by what came of them.",
    labelNames: ["result"],
    registers,
  });
  const configurationLags = new Histogram({
    name: "gatehouse_gateway_configuration_lag_seconds",
    help: "How long it took until a gateway said that it enforces what it should.",
    buckets: durationBuckets,
    registers,
  });
  const taskFailures = new Counter({
    name: "gatehouse_task_failures_total",
    help: "Runs of background tasks that ended with an error, by task.",
    labelNames: ["task"],
    registers,
  });
  // Known at once, so that alerts on their rise see the first one.
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

/** Figures that are asked for when somebody looks. */
function gaugesOf(
  { pool, outboxLagMs, caches, eventStreams, gatewayLinks, deviceLinks }: MetricSources,
  registers: Registry[],
): void {
  new Gauge({
    name: "gatehouse_database_connections",
    help: "Connections to the database, by state.",
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
    help: "Transactions that wait for a connection.",
    registers,
    collect() {
      this.set(pool().waiting);
    },
  });
  new Gauge({
    name: "gatehouse_outbox_lag_seconds",
    help: "How long ago this replica last knew all changes of all replicas.",
    registers,
    collect() {
      this.set(outboxLagMs() / 1000);
    },
  });
  new Gauge({
    name: "gatehouse_event_streams",
    help: "Live streams of audit records that are open.",
    registers,
    collect() {
      this.set(eventStreams());
    },
  });
  new Gauge({
    name: "gatehouse_gateway_links",
    help: "Gateways that are connected to this replica.",
    registers,
    collect() {
      this.set(gatewayLinks().connections);
    },
  });
  new Gauge({
    name: "gatehouse_gateway_links_unsettled",
    help: "Gateways connected to this replica that do not enforce yet what they should.",
    registers,
    collect() {
      this.set(gatewayLinks().unsettled);
    },
  });
  new Gauge({
    name: "gatehouse_device_links",
    help: "Devices that are connected to this replica.",
    registers,
    collect() {
      this.set(deviceLinks().connections);
    },
  });
  new Gauge({
    name: "gatehouse_device_links_unsettled",
    help: "Devices connected to this replica that do not use yet what they should.",
    registers,
    collect() {
      this.set(deviceLinks().unsettled);
    },
  });
  new Gauge({
    name: "gatehouse_cache_entries",
    help: "What is remembered, by cache.",
    labelNames: ["cache"],
    registers,
    collect() {
      for (const [cache, state] of Object.entries(caches)) this.set({ cache }, state().entries);
    },
  });
  new Counter({
    name: "gatehouse_cache_lookups_total",
    help: "Look-ups, by cache and whether what was remembered could be used.",
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
