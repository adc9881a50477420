import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** URL of the API during development. */
const server = process.env.GATEHOUSE_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "/console/",
  plugins: [react()],
  // The client is read from its sources, as everywhere in this repository.
  resolve: { conditions: ["gatehouse-source", "module", "browser"] },
  // The server puts its own nonce in the place of this, each time it sends the page
  // (packages/server/src/http/console.ts).
  html: { cspNonce: "__GATEHOUSE_NONCE__" },
  build: {
    target: "es2022",
    // Nothing is put into the page itself, which may hold no inline script.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: Object.fromEntries(
      ["/tenants", "/access", "/docs", "/openapi.json", "/errors", "/console/session"].map((path) => [
        path,
        // Changes are taken from pages of the same host alone.
        { target: server, changeOrigin: false },
      ]),
    ),
  },
});
