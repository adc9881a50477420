import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { HostileProvider, type Deviations } from "./testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl } from "./testing/provider-world.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

let server: TestServer;
let world: ProviderWorld;
let hostile: HostileProvider;
let signInUrl: string;
const log: string[] = [];
beforeAll(async () => {
  server = await startTestServer({ mayFail: true, settings: { publicUrl: () => providerTestUrl, providerNetworks: [{ address: "127.0.0.0", prefix: 8 } as never] as never } }).catch(() => undefined as never);
});
