import { expect, test } from "vitest";
import { discoveredAddress } from "./discovered-address.ts";

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["10.1.2.3", "10.1.2.3"],
  ["2001:DB8:0::7", "2001:db8::7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["127.0.0.1", ""],
  ["::ffff:127.0.0.1", ""],
  ["::1", ""],
  ["::", ""],
  ["fe80::1%eth0", ""],
  ["169.254.1.1", ""],
  ["unknown", ""],
  ["", ""],
])("a link from %j lets devices find its gateway at %j", (source, found) => {
  expect(discoveredAddress(source)).toBe(found);
});
