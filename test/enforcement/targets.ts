/** Targets of devices in the network of a test. */
export const app = { ipv4: "10.80.0.11", ipv6: "fd80::11" };
export const files = { ipv4: "10.80.0.12", ipv6: "fd80::12" };
export const names = { ipv4: "10.80.0.13", ipv6: "fd80::13" };
export const internet = { ipv4: "203.0.113.80", ipv6: "2001:db8:113::80" };
/** Ports that every target serves: echoes over TCP and UDP, and downloads over TCP. */
export const ports = { web: 8080, admin: 9090, downloads: 7070 };
