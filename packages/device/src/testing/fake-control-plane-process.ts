/**
 * A control plane in a process of its own, for tests in a network namespace: orders come as lines of JSON on standard input, and every
 * one is answered by a line on standard output.
 */
import { createInterface } from "node:readline";
import type {
  DeviceConfigurationHeader,
  SignedDeviceConfiguration,
} from "@gatehouse/agent-protocol/device/configuration";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { FakeControlPlane } from "./fake-control-plane.ts";

export interface ControlPlaneOrder {
  /** A content to sign and send, with changes of its header. */
  readonly configure?: DeviceConfiguration;
  readonly changes?: Partial<DeviceConfigurationHeader>;
  /** Something to put into the signed configuration afterwards. */
  readonly forge?: Partial<SignedDeviceConfiguration>;
  readonly state?: true;
}

const [device, port = "0"] = process.argv.slice(2);
const controlPlane = new FakeControlPlane(device);
const url = await controlPlane.listen(Number(port));
const say = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);
say({ url, token: controlPlane.token });
for await (const line of createInterface({ input: process.stdin })) {
  const { configure, changes, forge } = JSON.parse(line) as ControlPlaneOrder; // of device-world.ts
  if (configure !== undefined) say(await controlPlane.send({ ...controlPlane.signed(configure, changes), ...forge }));
  else {
    const { isLinked, hellos, heartbeats } = controlPlane;
    say({ isLinked, hello: hellos.at(-1), heartbeat: heartbeats.at(-1) });
  }
}
process.exit(0);
