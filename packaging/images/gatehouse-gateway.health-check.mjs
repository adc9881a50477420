/** HEALTHCHECK of the gateway's image: succeeds if the agent of this container performs an operation within 4 s. */
import { connect } from "node:net";

const [, , stateFolder = "/var/lib/gatehouse-gateway"] = process.argv;
const socket = connect(`${stateFolder}/running.sock`).setEncoding("utf8");
let answer = "";
socket.on("data", (text) => {
  answer += text;
});
socket.on("close", () => process.exit(answer === "alive\n" ? 0 : 1));
socket.on("error", () => process.exit(1));
setTimeout(() => process.exit(1), 4_000);
