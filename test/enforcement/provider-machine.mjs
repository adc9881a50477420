// An identity provider beside a replica of the server, which sends logout tokens to it.
import { importBundled } from "../bundled-program.mjs";
import { takeOrders } from "./take-orders.mjs";

const providerModule = new URL("../../packages/server/src/testing/hostile-provider.ts", import.meta.url);
const { HostileProvider } = await importBundled(providerModule);
const provider = await HostileProvider.start();

await takeOrders({
  async issuer() {
    return { issuer: provider.issuer, clientId: provider.clientId, clientSecret: provider.clientSecret };
  },
  /** Ends the session of the provider. Returns the status of the response. */
  async logOut({ url, session }) {
    const token = provider.logoutToken({ claims: { sub: undefined, sid: session } });
    const { status } = await fetch(url, { method: "POST", body: new URLSearchParams({ logout_token: token }) });
    return status;
  },
});
