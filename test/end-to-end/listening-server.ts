/** A server that listens for HTTP, and clients like those of users. */
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import { startTestServer } from "@gatehouse/server/testing/test-server";

export interface ListeningServer {
  readonly url: string;
  readonly operator: Gatehouse;
  /** Creates a tenant for the test, with a client for its first key. */
  newTenant(): Promise<{ readonly apiKey: string; readonly gatehouse: Gatehouse }>;
  client(apiKey: string): Gatehouse;
  close(): Promise<void>;
}

export async function startListeningServer(): Promise<ListeningServer> {
  const server = await startTestServer();
  const url = await server.listen();
  const client = (apiKey: string) => createGatehouse({ url, apiKey });
  return {
    url,
    client,
    operator: client(server.operatorKey),
    async newTenant() {
      const { key } = await server.newTenant();
      return { apiKey: key, gatehouse: client(key) };
    },
    close: () => server.close(),
  };
}

/** All items of a list as an array. */
export async function allOf<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
