/** HEALTHCHECK of the server's image: succeeds if the server of this container is alive. */
import http from "node:http";
import https from "node:https";

const { GATEHOUSE_PORT: port = "8080", GATEHOUSE_TLS_CERT, GATEHOUSE_ACME_DIRECTORY } = process.env;
const isHttps = Boolean(GATEHOUSE_TLS_CERT || GATEHOUSE_ACME_DIRECTORY);
const options = { host: "127.0.0.1", port, path: "/healthz", timeout: 4_000 };
// The certificate names the public host, not this address. Nothing secret is sent.
const request = isHttps ? https.get({ ...options, rejectUnauthorized: false }) : http.get(options);
request.on("response", (response) => process.exit(response.statusCode === 200 ? 0 : 1));
request.on("timeout", () => request.destroy(new Error("timeout")));
request.on("error", () => process.exit(1));
