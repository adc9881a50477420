/**
 * A control plane in its own process, for tests in a network namespace. Each line of JSON on standard input is an
 * order, and gets one line of JSON on standard output.
 */
import { createInterface } from "node:readline";
import type {
  DeviceConfigurationHeader,
  SignedDeviceConfiguration,
} from "@gatehouse/agent-protocol/device/configuration";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { FakeControlPlane } from "./fake-control-plane.ts";

export interface ControlPlaneOrder {
  /** A content to sign and send, with changes to its header. */
  readonly configure?: DeviceConfiguration;
  readonly changes?: Partial<DeviceConfigurationHeader>;
  /** Changes to the configuration after it was signed. */
  readonly forge?: Partial<SignedDeviceConfiguration>;
  /** The answer to the device's questions from now on. */
  readonly access?: FakeControlPlane["access"];
  readonly state?: true;
}

const [device, port = "0"] = process.argv.slice(2);
const controlPlane = new FakeControlPlane(device);
const url = await controlPlane.listen(Number(port));
const say = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);
say({ url, token: controlPlane.token });
for await (const line of createInterface({ input: process.stdin })) {
  const { configure, changes, forge, access } = JSON.parse(line) as ControlPlaneOrder; // of device-world.ts
  if (configure !== undefined) say(await controlPlane.send({ ...controlPlane.signed(configure, changes), ...forge }));
  else if (access !== undefined) {
    controlPlane.access = access;
    say({});
  } else {
    const { isLinked, hellos, heartbeats } = controlPlane;
    say({ isLinked, hello: hellos.at(-1), heartbeat: heartbeats.at(-1) });
  }
}
process.exit(0);
