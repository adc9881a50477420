/** A client of a tenant that reverts events. */
import { expect } from "vitest";
import type { TestClient } from "./test-server.ts";

type Reply = Awaited<ReturnType<TestClient["post"]>>;

export interface RevertingClient {
  /** The id of the latest event on a record. */
  lastEvent(recordId: string): Promise<string>;
  revert(event: string, headers?: Parameters<TestClient["post"]>[2]): Promise<Reply>;
  preview(event: string): Promise<Reply>;
  /** Like `revert` and `preview`, for the whole request of the event. */
  revertRequest(event: string): Promise<Reply>;
  previewRequest(event: string): Promise<Reply>;
  /** Reverts an event, and returns the body of the successful response. */
  reverted(event: string): Promise<Reply["body"]>;
}

export function revertingClient(client: TestClient): RevertingClient {
  const revert = (event: string, headers = {}) => client.post(`/tenants/events/${event}/revert`, undefined, headers);
  return {
    revert,
    async lastEvent(recordId) {
      const { body } = await client.get(`/tenants/events?filter[target.id]=${recordId}&sort=-position&limit=1`);
      return body.data[0].id;
    },
    preview: (event) => client.post(`/tenants/events/${event}/revert?preview=true`),
    revertRequest: (event) => client.post(`/tenants/events/${event}/revert?scope=request`),
    previewRequest: (event) => client.post(`/tenants/events/${event}/revert?scope=request&preview=true`),
    async reverted(event) {
      const reply = await revert(event);
      expect(reply.status, reply.text).toBe(200);
      return reply.body;
    },
  };
}
