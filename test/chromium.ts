/** The browser of the tests, and a person's authenticator in it. */
import { existsSync } from "node:fs";
import type { Page } from "playwright-core";

/** The headless shell loads a page with a little more than half of the CPU time of the whole browser. */
const browsers = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** Undefined without a browser. */
export const chromiumPath = [process.env.GATEHOUSE_TEST_BROWSER ?? "", ...browsers].find(existsSync);
export const withoutBrowser = `no browser at ${browsers.join(" or ")}: install Debian's package chromium-headless-shell or chromium, or set GATEHOUSE_TEST_BROWSER to the path of a Chromium`;

/** The browser's background work would send requests to hosts on the internet. */
export const chromiumFlags =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync".split(
    " ",
  );

/** An authenticator with a verified person who touches it at once. */
const authenticator = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

/** Gives a page an authenticator with a verified person. */
export async function addAuthenticator(page: Page): Promise<void> {
  const debug = await page.context().newCDPSession(page);
  await debug.send("WebAuthn.enable");
  await debug.send("WebAuthn.addVirtualAuthenticator", { options: authenticator });
}
