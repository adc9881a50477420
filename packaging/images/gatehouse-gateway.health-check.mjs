/**
 * HEALTHCHECK of the gateway's image: succeeds if the agent of this container performs an operation within 4 s. The
 * socket of an agent that was killed stays in a state folder that is read-only. The next agent then has only the socket
 * in the runtime folder.
 */
import { connect } from "node:net";

const [, , stateFolder = "/var/lib/gatehouse-gateway", runtimeFolder = "/run/gatehouse-gateway/gatehouse0"] =
  process.argv;

function check(folder, failed) {
  const socket = connect(`${folder}/running.sock`).setEncoding("utf8");
  let answer = "";
  socket.on("data", (text) => {
    answer += text;
  });
  socket.on("end", () => process.exit(answer === "alive\n" ? 0 : 1));
  socket.on("error", failed);
}

check(stateFolder, () => check(runtimeFolder, () => process.exit(1)));
setTimeout(() => process.exit(1), 4_000);
