import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { linkRowOf } from "./link-rows.queries.ts";
import { unique } from "./operations/test-records.ts";
import { SimulatedGateway, type SimulatedGatewayOptions } from "./simulated-gateway.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "./test-server.ts";
import { until } from "./until.ts";

/** The replicas of a test file that connects agents. Its values exist only while a test runs. */
export interface LinkedReplicas {
  /** The first replica. */
  readonly server: TestServer;
  /** The URL of the first replica. */
  readonly url: string;
  /** The URL of the second replica. */
  readonly otherUrl: string;
  /** A new tenant for each test. */
  readonly tenant: TestTenant;
  readonly client: TestClient;
  /** Agents to disconnect after the test. */
  readonly opened: { cut(): void }[];
  /** Creates a gateway in the test's tenant. Its agent is not connected yet, and uses the first replica by default. */
  newGateway(
    options?: Partial<SimulatedGatewayOptions>,
    fields?: object,
  ): Promise<{ readonly id: string; readonly gateway: SimulatedGateway }>;
  /** Creates a resource at a gateway, and a policy that permits everybody to access it. */
  grantAccess(gatewayId: string): Promise<{ readonly resourceId: string; readonly policyId: string }>;
  /** The stored state of a gateway's link. */
  rowOf(gatewayId: string): ReturnType<typeof linkRowOf>;
  /** Whether the applied configuration of a gateway is recorded. */
  isApplied(gatewayId: string, gateway: SimulatedGateway): Promise<boolean>;
  /** Cuts the link of a gateway, and waits until a replica has noticed it. */
  cut(gatewayId: string, gateway: SimulatedGateway): Promise<void>;
  /** Returns another agent with the token of a gateway. Its agent uses the first replica by default. */
  agentWithToken(id: string, token: string, url?: string): SimulatedGateway;
}

/** Starts replicas for the tests of a file, and creates a tenant before each test. Call it at the top of the file. */
export function linkedReplicas(count = 1): LinkedReplicas {
  let replicas: readonly TestServer[] = [];
  let urls: readonly string[] = [];
  let tenant: TestTenant | undefined;
  const opened: { cut(): void }[] = [];
  beforeAll(async () => {
    replicas = await Promise.all(Array.from({ length: count }, () => startTestServer()));
    urls = await Promise.all(replicas.map(listen));
  });
  afterAll(() => Promise.all(replicas.map((replica) => replica.close())));
  beforeEach(async () => {
    tenant = await started(replicas[0]).newTenant();
  });
  afterEach(() => {
    for (const agent of opened.splice(0)) agent.cut();
  });
  const rowOf = (id: string) => linkRowOf(started(replicas[0]), started(tenant).id, id);
  return {
    get server() {
      return started(replicas[0]);
    },
    get url() {
      return started(urls[0]);
    },
    get otherUrl() {
      return started(urls[1]);
    },
    get tenant() {
      return started(tenant);
    },
    get client() {
      return started(tenant).client;
    },
    opened,
    async newGateway(options = {}, fields = {}) {
      const settings = { name: unique("Gateway"), wireguardPort: "51820", ...fields };
      const { status, body, text } = await started(tenant).client.post("/tenants/gateways", settings);
      expect(status, text).toBe(201);
      const identity = { url: started(urls[0]), gatewayId: body.id, token: body.token };
      const gateway = new SimulatedGateway({ ...identity, ...options });
      opened.push(gateway);
      return { id: body.id, gateway };
    },
    async grantAccess(gatewayId) {
      const { client } = started(tenant);
      const resource = await client.must.post("/tenants/resources", {
        name: unique("Resource"),
        type: "PRIVATE",
        addresses: [{ address: "10.20.30.0/24", protocols: [] }],
      });
      await client.must.put(`/tenants/resources/${resource.body.id}/gateways/${gatewayId}`);
      const policy = await client.must.post("/tenants/policies", {
        name: unique("Policy"),
        type: "PRIVATE",
        action: true,
        allUsers: true,
        resources: [resource.body.id],
      });
      return { resourceId: resource.body.id, policyId: policy.body.id };
    },
    rowOf,
    async isApplied(id, { envelope }) {
      return envelope !== undefined && (await rowOf(id))?.applied_root === envelope.header.root;
    },
    async cut(id, gateway) {
      gateway.cut();
      await until("that is noticed", async () => (await rowOf(id))?.disconnected_at !== null);
    },
    agentWithToken(gatewayId, token, url = started(urls[0])) {
      const gateway = new SimulatedGateway({ url, gatewayId, token });
      opened.push(gateway);
      return gateway;
    },
  };
}

/** Makes a server listen on a free port. @returns its URL */
export function listen({ app }: TestServer): Promise<string> {
  return app.listen({ host: "127.0.0.1", port: 0 });
}

function started<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("The replica is not started, or does not exist.");
  return value;
}
