import { expect, test } from "vitest";
import { formatLogLine } from "../log.ts";
import { FrameSocket } from "./frame-socket.ts";

/** Attempts a connection that fails early. Returns the log, and whether the link was reported as cut. */
async function attempt(url: string, token: string): Promise<{ readonly logged: string; readonly isCut: boolean }> {
  let logged = "";
  let isCut = false;
  const socket = new FrameSocket({
    url,
    path: "/link",
    subprotocols: ["test"],
    frames: {},
    token: () => Promise.resolve(token),
    tokenRemedy: "",
    log: (message, fields) => {
      logged += formatLogLine(message, fields);
    },
    connected: () => {},
    rejected: () => {},
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
  "the invalid token %j is reported without its text, and retried later",
  async (token) => {
    const { logged, isCut } = await attempt("http://127.0.0.1:9", token);
    expect(isCut).toBe(true);
    expect(logged).toContain("token is empty or has characters");
    if (token !== "") expect(logged).not.toContain(token);
  },
);

test("an invalid URL fails only the attempt", async () => {
  const { logged, isCut } = await attempt("nowhere", "token");
  expect(isCut).toBe(true);
  expect(logged).toContain('failed to connect to the control plane url=nowhere err="Invalid URL"');
});

test("an unencrypted token is reported once", async () => {
  const { logged } = await attempt("http://gatehouse.example.com", "no token");
  expect(logged).toMatch(/^token is sent unencrypted; use https/);
  expect((await attempt("https://gatehouse.example.com", "no token")).logged).not.toContain("https://");
});
