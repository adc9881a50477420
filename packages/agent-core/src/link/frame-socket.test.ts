import { expect, test } from "vitest";
import { FrameSocket } from "./frame-socket.ts";

/** What is logged, and whether the link counts as cut, when a connection cannot even be begun. */
async function begun(url: string, token: string): Promise<{ readonly logged: string; readonly isCut: boolean }> {
  let logged = "";
  let isCut = false;
  const socket = new FrameSocket({
    url,
    path: "/link",
    subprotocol: "test",
    frames: {},
    token: () => Promise.resolve(token),
    tokenRemedy: "",
    log: (message) => {
      logged += message;
    },
    connected: () => {},
    heard: () => {},
    violated: () => {},
    cut: () => {
      isCut = true;
    },
  });
  await socket.connect();
  expect(socket.connection).toBeUndefined();
  return { logged, isCut };
}

test.each(["a\u0001b", "two\nlines", "snow ☃", ""])(
  "the token %j is none: it is said without it, and tried again later",
  async (token) => {
    const { logged, isCut } = await begun("http://127.0.0.1:9", token);
    expect(isCut).toBe(true);
    expect(logged).toContain("holds no token");
    if (token !== "") expect(logged).not.toContain(token);
  },
);

test("a URL that cannot be called ends nothing but the attempt", async () => {
  const { logged, isCut } = await begun("nowhere", "token");
  expect(isCut).toBe(true);
  expect(logged).toContain("The link failed: Invalid URL");
});

test("where the token could be read on the way, it is said once", async () => {
  const { logged } = await begun("http://gatehouse.example.com", "no token");
  expect(logged).toMatch(/^The token can be read on the way to the control plane: call it with https/);
  expect((await begun("https://gatehouse.example.com", "no token")).logged).not.toContain("https://");
});
