/**
 * Runs one load in a separate process. It reads the load as JSON from standard input, and prints the result as JSON.
 */
import { text } from "node:stream/consumers";
import autocannon from "autocannon";
import type { Load, LoadResult } from "./load.ts";

const load = JSON.parse(await text(process.stdin)) as Load; // as `run` writes it
const { url, paths, method = "GET", headers = {}, body, bodies, requests, connections, seconds } = load;
const before = process.cpuUsage();
const result = await autocannon({
  url,
  method,
  headers,
  connections,
  duration: seconds,
  ...(load.connectionRate === undefined ? {} : { connectionRate: load.connectionRate }),
  ...(body === undefined ? {} : { body, idReplacement: true }),
  ...(paths === undefined ? {} : { setupClient: inTurn(paths.map((path) => ({ method, path, headers }))) }),
  ...(requests === undefined ? {} : { setupClient: inTurn(requests.map((request) => ({ ...request, headers }))) }),
  ...(bodies === undefined ? {} : { setupClient: inTurn(bodies.map((body) => ({ method, headers, body }))) }),
});
/** Each connection starts at a different request, so that none profits from another's recent request. */
function inTurn(requests: readonly object[]): (client: { setRequests(requests: readonly object[]): void }) => void {
  return (client) => {
    const start = Math.floor(Math.random() * requests.length);
    client.setRequests([...requests.slice(start), ...requests.slice(0, start)].slice(0, 5_000));
  };
}

const { user, system } = process.cpuUsage(before);
const answer: LoadResult = {
  requests: result.requests.total,
  perSecond: result.requests.average,
  p50: result.latency.p50,
  p99: result.latency.p99,
  failures: result.non2xx + result.errors,
  processorSeconds: (user + system) / 1e6,
};
process.stdout.write(JSON.stringify(answer));
