/** The order in which test files start. A long file that starts last would run alone, on one core. */

/**
 * Durations of the slowest files in a run of all tests, in seconds. Estimates suffice, because they only order the
 * files.
 */
export const slowFiles: Readonly<Record<string, number>> = {
  "test/console/every-page.test.ts": 180,
  "test/console/access-graph.test.ts": 96,
  "test/console/stories.test.ts": 89,
  "test/console/forms-stories.test.ts": 82,
  "test/console/sign-in-stories.test.ts": 82,
  "test/console/auditor-stories.test.ts": 78,
  "test/console/every-dialog.test.ts": 80,
  "test/console/access-stories.test.ts": 70,
  "test/console/auditor-access-stories.test.ts": 60,
  "test/console/network-stories.test.ts": 60,
  "test/console/pictures.test.ts": 60,
  "test/console/ten-tasks.test.ts": 60,
  "test/console/revert-stories.test.ts": 50,
  "test/console/device-session-stories.test.ts": 40,
  "test/console/first-steps-stories.test.ts": 40,
  "test/console/my-stories.test.ts": 40,
  "test/console/auditor-limits-stories.test.ts": 30,
  "test/console/command-line-stories.test.ts": 30,
  "test/console/provider-stories.test.ts": 30,
  "test/console/publish-stories.test.ts": 30,
  "test/console/demo-stories.test.ts": 20,
  "test/console/layout-stories.test.ts": 20,
  "test/console/lists-stories.test.ts": 30,
  "test/console/phone-layout-stories.test.ts": 20,
  "test/console/style-stories.test.ts": 20,
  "test/console/table-stories.test.ts": 20,
  "test/console/first-load.test.ts": 15,
  "test/console/screenshots.test.ts": 3,
  "test/enforcement/network-failover.test.ts": 105,
  "test/enforcement/network-control-plane.test.ts": 102,
  "test/enforcement/device-sessions.test.ts": 87,
  "test/enforcement/device-agent.test.ts": 75,
  "test/enforcement/network.test.ts": 70,
  "test/enforcement/agent-enforcement.test.ts": 60,
  "test/enforcement/wireguard-app.test.ts": 60,
  "test/enforcement/network-keys.test.ts": 50,
  "test/enforcement/relay.test.ts": 50,
  "test/enforcement/device-check.test.ts": 40,
  "test/enforcement/sites.test.ts": 35,
  "test/enforcement/changed-filters.test.ts": 30,
  "test/enforcement/name-answers.test.ts": 20,
  "packages/server/src/features/previews/previews.test.ts": 40,
  "packages/server/src/platform/audit/tampering.test.ts": 35,
  "packages/server/src/testing/faults/hostile-bodies.test.ts": 30,
  "packages/server/src/features/access/impact/ledger.test.ts": 25,
  "packages/server/src/compare-policy-order.test.ts": 20,
  "packages/cli/src/gatehouse.test.ts": 25,
  "packages/cli/src/serve-acme.pebble.test.ts": 23,
  "packages/server/src/testing/cached-answers.property.test.ts": 20,
  "packages/cli/src/sign-in/device-sign-in.test.ts": 20,
  "packages/server/src/agents/devices/device-channel.test.ts": 20,
  "packages/server/src/agents/gateways/gateway-channel.test.ts": 20,
  "packages/server/src/testing/operations/order-of-checks.test.ts": 18,
  "packages/server/src/testing/faults/crash.test.ts": 15,
  "packages/embedded-postgres/src/embedded-postgres.test.ts": 15,
  "packages/server/src/features/identity-providers/provider-logout.test.ts": 14,
  "packages/server/src/verify-audit.test.ts": 13,
  "packages/server/src/testing/operations/idempotency.test.ts": 12,
  "packages/server/src/testing/operations/isolation.test.ts": 12,
  "packages/server/src/testing/lists/lists.property.test.ts": 12,
  "packages/server/src/agents/gateways/gateway-status.test.ts": 12,
  "packages/cli/src/serve-systemd.test.ts": 12,
  "test/contract/validating-proxy.test.ts": 12,
  "test/end-to-end/tour.test.ts": 12,
};

/** The estimate for each other file. */
const otherSeconds = 2;

const durationOf = (file: string) => slowFiles[file] ?? otherSeconds;

/** Tests with real packets wait for handshakes, reconnects and time limits. */
export const mostlyWaits = (file: string) => file.startsWith("test/enforcement/");

/**
 * Returns the files in the order in which they should start: the slowest first. At most half of the workers run a file
 * that mostly waits, so that the others use the processor.
 *
 * @param files paths from the root of the repository
 */
export function inOrder(files: readonly string[], workers: number): readonly string[] {
  const slowestFirst = files.toSorted((one, other) => durationOf(other) - durationOf(one) || (one < other ? -1 : 1));
  const waiting = slowestFirst.filter(mostlyWaits);
  const computing = slowestFirst.filter((file) => !mostlyWaits(file));
  const most = Math.max(1, Math.floor(workers / 2));
  const running = Array.from({ length: workers }, () => ({ file: "", until: 0 }));
  const order: string[] = [];
  while (order.length < files.length) {
    const next = running.reduce((earliest, each) => (each.until < earliest.until ? each : earliest));
    const others = running.filter((each) => each !== next && mostlyWaits(each.file)).length;
    const file = (others < most ? waiting.shift() : undefined) ?? computing.shift() ?? waiting.shift() ?? "";
    next.until += durationOf(file);
    next.file = file;
    order.push(file);
  }
  return order;
}
