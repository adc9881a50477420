import { describe, expect, test } from "vitest";
import { allowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { checkWebhookUrl } from "./webhook-url.rules.ts";

const none = allowedNetworks([]);
const inside = allowedNetworks(["10.20.0.0/16", "::1"]);

describe("a URL is taken, in canonical form", () => {
  test.each([
    ["https://hooks.example.com/gatehouse?tenant=1", "https://hooks.example.com/gatehouse?tenant=1"],
    ["HTTPS://Hooks.Example.COM:443", "https://hooks.example.com/"],
    ["https://hooks.example.com:8443/a b", "https://hooks.example.com:8443/a%20b"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
    ["https://1.1.1.1/", "https://1.1.1.1/"],
    ["https://[2606:4700::1]/", "https://[2606:4700::1]/"],
  ])("%s", (text, href) => {
    expect(checkWebhookUrl(text, none)).toMatchObject({ ok: true, url: { href } });
  });

  test.each(["http://10.20.1.1:8080/", "https://10.20.1.1/", "http://[::1]/", "http://receiver.example.com/"])(
    "%s if networks are allowed",
    (text) => expect(checkWebhookUrl(text, inside)).toMatchObject({ ok: true }),
  );
});

describe("a URL is refused, with the reason", () => {
  test.each([
    ["", "is not a URL"],
    ["hooks.example.com", "is not a URL"],
    ["/hook", "is not a URL"],
    ["https://", "is not a URL"],
    ["https://exa mple.com/", "is not a URL"],
    ["ftp://hooks.example.com/", "is ftp: and not https"],
    ["file:///etc/passwd", "is file: and not https"],
    ["javascript:alert(1)", "is javascript: and not https"],
    ["http://hooks.example.com/", "is not https"],
    ["http://1.1.1.1/", "is not https"],
    ["https://user@hooks.example.com/", "holds a user name"],
    ["https://:pass@hooks.example.com/", "holds a user name"],
    ["https://hooks.example.com/#part", "has a fragment"],
    ["https://hooks.example.com/#", "has a fragment"],
    ["https://127.0.0.1/", "names 127.0.0.1"],
    ["https://127.1/", "names 127.0.0.1"],
    ["https://2130706433/", "names 127.0.0.1"],
    ["https://0x7f000001/", "names 127.0.0.1"],
    ["https://0177.0.0.1/", "names 127.0.0.1"],
    ["https://１２７.0.0.1/", "names 127.0.0.1"],
    ["https://0/", "names 0.0.0.0"],
    ["https://10.0.0.1/", "names 10.0.0.1"],
    ["https://169.254.169.254/latest/meta-data", "names 169.254.169.254"],
    ["https://192.168.1.1/", "names 192.168.1.1"],
    ["https://[::1]/", "names ::1"],
    ["https://[::]/", "names ::"],
    ["https://[::ffff:127.0.0.1]/", "names ::ffff:7f00:1"],
    ["https://[::ffff:7f00:1]/", "names ::ffff:7f00:1"],
    ["https://[64:ff9b::10.0.0.1]/", "names 64:ff9b::a00:1"],
    ["https://[fe80::1]/", "names fe80::1"],
    ["https://[fd00:ec2::254]/", "names fd00:ec2::254"],
    ["https://168.63.129.16/", "names 168.63.129.16"],
    ["https://[64:ff9b::168.63.129.16]/", "names 64:ff9b::a83f:8110"],
  ])("%s", (text, message) => {
    const check = checkWebhookUrl(text, none);
    expect(check.ok ? `taken as ${check.url.href}` : check.message).toContain(message);
  });

  test.each(["http://10.21.0.1/", "https://10.21.0.1/", "http://1.1.1.1/", "https://127.0.0.1/"])(
    "%s if only other networks are allowed",
    (text) => expect(checkWebhookUrl(text, inside).ok).toBe(false),
  );
});
