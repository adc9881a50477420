/** Serves `GET /metrics` on its own port, because metrics reveal too much about tenants to be public. */
import { createServer, type Server } from "node:http";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { defaultStallMs, limitStalls } from "./stalled-responses.ts";

export function createMetricsListener(metrics: Metrics): Server {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    if (request.method !== "GET" || request.url?.split("?", 1)[0] !== "/metrics") {
      response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" }).end("Use GET /metrics.\n");
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { "Content-Type": metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return limitStalls(server, defaultStallMs);
}
