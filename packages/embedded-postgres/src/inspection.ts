/** The parts of a cluster that programs need to inspect it from outside, such as tests that kill it. */
export { superuser } from "./initialise-cluster.ts";
export { recordedPostmasterPid } from "./postmaster.ts";
export { serverPort, serverSocketName } from "./server-settings.ts";
export { chooseSocketDirectory } from "./socket-directory.ts";
