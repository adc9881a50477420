import { describe, expect, it } from "vitest";
import { parseIpAddress } from "./ip-address.ts";
import { isReachableUnicast } from "./reachable-unicast.ts";

function judged(text: string): boolean {
  const address = parseIpAddress(text);
  if (address === undefined) throw new RangeError(text);
  return isReachableUnicast(address);
}

describe("is somewhere on the internet", () => {
  it.each([
    "1.1.1.1",
    "11.0.0.1",
    "172.32.0.1",
    "223.255.255.255",
    "2606:4700::1",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",
  ])("%s", (text) => expect(judged(text)).toBe(true));
});

describe("is not, or not surely", () => {
  it.each([
    "0.0.0.0",
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "192.88.99.1",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b:1::1.1.1.1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "2001::1",
    "2002:7f00:1::1",
    "2002:101:101::1",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:101:101",
    "4000::1",
  ])("%s", (text) => expect(judged(text)).toBe(false));
});
