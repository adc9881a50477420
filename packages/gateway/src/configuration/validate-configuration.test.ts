import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exampleConfiguration } from "../testing/example-configuration.ts";
import { validateConfiguration } from "./validate-configuration.ts";

/** Texts that another program would interpret as something other than an address, a name or a key. */
const injections = [
  "100.64.0.9; flush ruleset",
  "100.64.0.9\nflush ruleset",
  "100.64.0.9 }",
  "$(reboot)",
  "-j",
  "999.1.1.1",
  "100.64.0.1/33",
  "example.com/24",
  "0.0.0.0/0 dev lo",
  "",
];

describe("the form of a configuration", () => {
  test("matches the example", () => {
    expect(validateConfiguration(exampleConfiguration())).toHaveProperty("configuration");
  });

  test.each(injections)("refuses %j in every text field", (text) => {
    const { content } = exampleConfiguration();
    const peer = content.peers["100.64.0.1"];
    const places: readonly object[] = [
      { peers: { [text]: peer } },
      { peers: { "100.64.0.1": { ...peer, publicKey: text } } },
      { peers: { "100.64.0.1": { ...peer, ipv6: text } } },
      { peers: { "100.64.0.1": { ...peer, kind: "site", networks: [text] } } },
      { peers: { "100.64.0.1": { ...peer, kind: "site", networks: [], endpoint: text } } },
      { classes: { [text]: {} } },
      { classes: { staff: { [text]: true } } },
      { resources: { [text]: { devices: [], sites: [] } } },
      { destinations: { [text]: { services: [], otherwise: "drop" } } },
      { settings: { ...content.settings, interface: { ...content.settings.interface, ipv4: text } } },
      { settings: { ...content.settings, interface: { ...content.settings.interface, ipv6: text } } },
      { settings: { ...content.settings, interface: { ...content.settings.interface, pools: [text] } } },
      { settings: { ...content.settings, dns: { resolvers: [text], domains: [] } } },
      { settings: { ...content.settings, dns: { resolvers: [], domains: [], networks: [text] } } },
      { destinations: { "db.example.com": { services: [], otherwise: "drop", answers: [text] } } },
      { destinations: { "db.example.com": { services: [], otherwise: "drop", answers: text } } },
      { settings: { ...content.settings, relay: [{ listenPort: 51821, endpoint: text }] } },
    ];
    for (const place of places) {
      const given = { ...exampleConfiguration(), content: { ...content, ...place } };
      expect(validateConfiguration(given), JSON.stringify(place)).toHaveProperty("problem");
    }
  });

  test("refuses a prefix with host bits, repeated addresses, and peers outside the pools", () => {
    const { content } = exampleConfiguration();
    const peer = content.peers["100.64.0.1"];
    const wrong = [
      { destinations: { "10.80.0.1/24": { services: [], otherwise: "drop" } } },
      { destinations: { "db.example.com": { services: [], otherwise: "drop", answers: ["10.80.0.1/24"] } } },
      { settings: { ...content.settings, dns: { resolvers: [], domains: [], networks: ["10.80.0.1/24"] } } },
      { peers: { "100.64.0.1": peer, "100.64.0.2": peer } },
      { peers: { "192.0.2.1": peer } },
      { settings: { ...content.settings, interface: { ...content.settings.interface, pools: ["0.0.0.0/0"] } } },
    ];
    for (const place of wrong) {
      expect(validateConfiguration({ ...exampleConfiguration(), content: { ...content, ...place } })).toHaveProperty(
        "problem",
      );
    }
  });

  test("never throws for any input", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => void validateConfiguration(value)));
  });
});
