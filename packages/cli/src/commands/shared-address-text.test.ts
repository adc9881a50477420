import { expect, test } from "vitest";
import { divertedAddressText } from "./shared-address-text.ts";

test("an address without a common gateway names the resource whose gateway gets the packets", () => {
  expect(divertedAddressText({ address: "10.0.0.5", routedFor: { id: "wiki", name: "Wiki" } })).toBe(
    'Devices cannot reach this resource at 10.0.0.5: packets go to a gateway of "Wiki" that does not carry this resource.',
  );
});
