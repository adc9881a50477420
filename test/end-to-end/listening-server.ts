/** A server that answers over HTTP, and clients of it as users have them. */
import { createGatehouse, type Gatehouse } from "@gatehouse/client/gatehouse";
import { startTestServer } from "@gatehouse/server/testing/test-server";

export interface ListeningServer {
  readonly url: string;
  readonly operator: Gatehouse;
  /** A tenant of the test's own, as its first key sees it. */
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

/** All items of a list. */
export async function allOf<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
