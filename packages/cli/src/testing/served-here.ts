/** A new installation that the test's process serves: for commands whose subject is not `gatehouse serve`. */
import { createDatabase } from "@gatehouse/server/testing/test-database";
import { startTestServer } from "@gatehouse/server/testing/test-server";

export interface ServedInstallation {
  /** The address of the server, which is not its public address. */
  readonly url: string;
  readonly publicUrl: string;
  /** The key of the first tenant. */
  readonly apiKey: string;
  /** Signs the owner in, and returns the headers that a page of the console sends from then on. */
  signInOwner(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

export async function serveHere(): Promise<ServedInstallation> {
  const database = await createDatabase();
  let publicUrl = "";
  const server = await startTestServer({
    connection: database.connection,
    settings: { publicUrl: () => publicUrl },
  });
  const url = await server.listen();
  publicUrl = url.replace("127.0.0.1", "localhost");
  const { firstApiKey, owner } = server.installation;
  if (firstApiKey === undefined || owner === undefined) throw new Error("the database has a tenant already");
  return {
    url,
    publicUrl,
    apiKey: firstApiKey,
    async signInOwner() {
      const headers = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
      const body = JSON.stringify({ code: owner.recoveryCode });
      const response = await fetch(`${url}/console/recovery`, { method: "POST", headers, body });
      const text = await response.text();
      if (response.status !== 201) throw new Error(`The recovery code is not accepted: ${text}`);
      const cookie = response.headers.getSetCookie().find((each) => each.includes("_session=")) ?? "";
      return { ...headers, cookie: cookie.split(";", 1)[0] ?? "" };
    },
    async close() {
      await server.close();
      await database.drop();
    },
  };
}
