/** A happy-dom window in which requests are Node's own, so that the mock API can answer them. */
import { builtinEnvironments, type Environment } from "vitest/runtime";

const networkGlobals = [
  "fetch",
  "Request",
  "Response",
  "Headers",
  "FormData",
  "AbortController",
  "AbortSignal",
  "URL",
  "URLSearchParams",
] as const;

const environment: Environment = {
  ...builtinEnvironments["happy-dom"],
  name: "console-dom",
  async setup(global) {
    const nodeGlobals = Object.fromEntries(networkGlobals.map((name) => [name, global[name]]));
    const window = await builtinEnvironments["happy-dom"].setup(global, {
      happyDOM: {
        url: "https://gatehouse.example.com/console/",
        width: 1440,
        height: 900,
        settings: { device: { prefersReducedMotion: "reduce" } },
      },
    });
    Object.assign(global, nodeGlobals);
    return window;
  },
};

export default environment;
