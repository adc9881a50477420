/** A user with one device, on a server whose clock the test advances. */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { publicKey, unique, uniqueEmail } from "./operations/test-records.ts";
import { signInOnDevice } from "./signed-in-device.ts";
import { activeUser } from "./signed-in-person.ts";
import { SimulatedKey } from "./simulated-agent.ts";
import { SimulatedGateway } from "./simulated-gateway.ts";
import { TestClock } from "./test-clock.ts";
import { createDatabase, type TestDatabase } from "./test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "./test-server.ts";

export const hourMs = 3_600_000;
/** The tests advance the clock, and run due tasks by hand. */
const settings = {
  gatewayLinks: { watch: false, reconnectMs: 0, tickMs: hourMs, lifeMs: 24 * hourMs },
  deviceLinks: { tickMs: hourMs, lifeMs: 24 * hourMs },
  rateLimits: { perMinute: 0, authFailures: 1_000, shared: false },
};

/** Available only within tests and `beforeEach`. */
export interface DeviceSessionWorld {
  readonly server: TestServer;
  readonly clock: TestClock;
  readonly tenant: TestTenant;
  readonly userId: string;
  readonly deviceId: string;
}

/** Prepares a server and a tenant for each test of the calling file. @param roles of the user */
export function deviceSessionWorld(roles: readonly string[] = []): DeviceSessionWorld {
  /** A separate database: the advanced clock would make gateways of other tests silent. */
  let own: TestDatabase;
  let opened: DeviceSessionWorld | undefined;
  beforeAll(async () => {
    own = await createDatabase();
  });
  afterAll(() => own.drop());
  beforeEach(async () => {
    const clock = new TestClock();
    const server = await startTestServer({ clock, connection: own.connection, settings });
    const tenant = await server.newTenant();
    const userId = (await activeUser(server, tenant, uniqueEmail(), roles)).id;
    const device = { name: "Laptop", userId, hardwareId: unique("Serial"), publicKey: publicKey() };
    const deviceId: string = (await tenant.client.must.post("/tenants/devices", device)).body.id;
    opened = { server, clock, tenant, userId, deviceId };
  });
  afterEach(() => opened?.server.close());
  const now = () => {
    if (opened === undefined) throw new Error("no test runs yet");
    return opened;
  };
  return {
    get server() {
      return now().server;
    },
    get clock() {
      return now().clock;
    },
    get tenant() {
      return now().tenant;
    },
    get userId() {
      return now().userId;
    },
    get deviceId() {
      return now().deviceId;
    },
  };
}

/** Signs the user in on the device. */
export function signInNow({ server, clock, tenant, userId, deviceId }: DeviceSessionWorld): Promise<void> {
  return signInOnDevice({ server, tenant, userId, deviceId, authTime: clock.now() });
}

/** Creates a gateway and connects its agent while a test uses it. */
export async function withGateway(
  { server, clock, tenant }: DeviceSessionWorld,
  use: (gateway: SimulatedGateway, id: string) => Promise<void>,
): Promise<void> {
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const body = { name: unique("Gateway"), wireguardPort: "51820" };
  const { id, token } = (await tenant.client.must.post("/tenants/gateways", body)).body;
  const gateway = new SimulatedGateway({ url, gatewayId: id, token, now: () => clock.now().getTime() });
  gateway.useKey(new SimulatedKey());
  try {
    await gateway.connect();
    await use(gateway, id);
  } finally {
    gateway.cut();
  }
}
