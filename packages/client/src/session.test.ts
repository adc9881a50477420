import { expect, test } from "vitest";
import { createGatehouse } from "./gatehouse.ts";

async function requestOf(options: { readonly apiKey?: string }): Promise<Request> {
  const asked: Request[] = [];
  const fetch = async (request: Request) => {
    asked.push(request);
    return Response.json([]);
  };
  await createGatehouse({ url: "https://gatehouse.example.com", fetch, ...options }).get("/tenants/gateways");
  return asked[0] ?? expect.fail("no request was sent");
}

test("without a key, requests carry the cookies of the page's own origin and no key header", async () => {
  const request = await requestOf({});
  expect(request.credentials).toBe("same-origin");
  expect(request.headers.has("apikey")).toBe(false);
});

test("with a key, requests carry no cookies", async () => {
  const request = await requestOf({ apiKey: "k".repeat(40) });
  expect(request.credentials).toBe("omit");
  expect(request.headers.get("apikey")).toBe("k".repeat(40));
});
