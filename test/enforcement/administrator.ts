/** The administrator of a test's network, who uses HTTP from a separate machine. */
import type { Gateway } from "@gatehouse/contract/records/gateway";
import { expect } from "vitest";
import type { ReplyBody } from "../../packages/server/src/testing/test-server.ts";
import type { Prober } from "./namespaces.ts";

interface Answer {
  /** 0: there was no response. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export class Administrator {
  readonly #prober: Prober;
  readonly #apiKey: string;
  readonly #urlOf: (replica: number) => string;
  /** The replica that receives requests, from 1. */
  replica = 1;

  constructor(prober: Prober, apiKey: string, urlOf: (replica: number) => string) {
    this.#prober = prober;
    this.#apiKey = apiKey;
    this.#urlOf = urlOf;
  }

  ready(): Promise<void> {
    return this.#prober.ready;
  }

  ask(method: string, path: string, body?: object): Promise<Answer> {
    return this.#prober.ask("request", {
      method,
      url: this.#urlOf(this.replica) + path,
      headers: { apikey: this.#apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async create(path: string, body: object): Promise<ReplyBody> {
    const { status, text } = await this.ask("POST", path, body);
    expect(status, text).toBe(201);
    return JSON.parse(text);
  }

  async list(path: string): Promise<ReplyBody[]> {
    const { status, text } = await this.ask("GET", path);
    expect(status, text).toBe(200);
    return JSON.parse(text);
  }

  async gateway(id: string): Promise<Gateway> {
    const { status, text } = await this.ask("GET", `/tenants/gateways/${id}`);
    expect(status, text).toBe(200);
    return JSON.parse(text);
  }

  async change(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await this.ask(method, path, body);
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeGreaterThanOrEqual(200);
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer;
  }

  /** A change that returns once every gateway enforces it. */
  async enforce(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await this.change(method, `${path}?wait=applied`, body);
    expect(answer.headers["gatehouse-enforced"], JSON.stringify(answer.headers)).toMatch(/^applied/);
    return answer;
  }
}
