import { connect } from "node:net";

const timeoutMs = 3_000;

export interface ConnectResult {
  readonly outcome: "connected" | "refused" | "silent" | "unreachable";
  readonly durationMs: number;
}

/** Opens a TCP connection, and closes it at once. Never rejects. */
export type ConnectTarget = (address: string, port: number) => Promise<ConnectResult>;

export const connectTarget: ConnectTarget = (address, port) => {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    const end = (outcome: ConnectResult["outcome"]) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ outcome, durationMs: Math.round((performance.now() - startedAt) * 10) / 10 });
    };
    const timer = setTimeout(() => end("silent"), timeoutMs);
    socket.once("connect", () => end("connected"));
    socket.once("error", (error) => {
      const code = "code" in error ? error.code : undefined;
      end(
        code === "ECONNREFUSED" || code === "ECONNRESET" ? "refused" : code === "ETIMEDOUT" ? "silent" : "unreachable",
      );
    });
  });
};
