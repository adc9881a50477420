import type { Part } from "@gatehouse/agent-protocol/link/frames";
import { Ajv, type ValidateFunction } from "ajv";
import { isUuid } from "../../platform/ids.ts";
import { hasMoreValues } from "../../platform/json-values.ts";

/** The longest message of an agent, in characters: a heartbeat with a thousand peers fits. */
const maxMessageLength = 1024 * 1024;
/** The maximum number of values in a message. The longest heartbeat has 6,000. Parsing many more blocks all tenants. */
const maxValues = 10_000;

/** The validators of one kind of agent, by type of frame. */
export type FrameChecks = ReadonlyMap<string, ValidateFunction>;

/** @param frames the schema of each type of frame */
export function frameChecks(frames: Readonly<Record<string, object>>): FrameChecks {
  const ajv = new Ajv({ strict: false, ownProperties: true, formats: { uuid: isUuid } });
  return new Map(Object.entries(frames).map(([type, schema]) => [type, ajv.compile(schema)]));
}

/** The result of reading a frame: a whole message, a part of an incomplete one, or a violation of the protocol. */
export type ReadFrame<Message> =
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "part" }
  | { readonly kind: "fault"; readonly fault: string };

const fault = (text: string) => ({ kind: "fault", fault: text }) as const;

/**
 * Validates the frames of one connection, and joins messages that arrive in parts. `Message` is any frame that the
 * validators accept, except a part.
 */
export class FrameReader<Message extends { readonly type: string }> {
  readonly #checks: FrameChecks;
  #parts: string[] = [];
  #length = 0;

  constructor(checks: FrameChecks) {
    this.#checks = checks;
  }

  read(text: string): ReadFrame<Message> {
    const frame = this.#validated(text);
    if (typeof frame === "string") return fault(frame);
    if (!isPart(frame)) return { kind: "message", message: frame };
    if (frame.index !== this.#parts.length) return fault("a part is out of order");
    this.#length += frame.text.length;
    if (this.#length > maxMessageLength) return fault("a message is too long");
    this.#parts.push(frame.text);
    if (!frame.isLast) return { kind: "part" };
    const whole = this.#validated(this.#parts.join(""));
    this.#parts = [];
    this.#length = 0;
    if (typeof whole === "string") return fault(whole);
    return isPart(whole) ? fault("a part consists of parts") : { kind: "message", message: whole };
  }

  /** @returns the frame, or what is wrong with it */
  #validated(text: string): Message | Part | string {
    if (hasMoreValues(text, maxValues)) return "a frame has too many values";
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return "a frame is not JSON";
    }
    const type = value !== null && typeof value === "object" && "type" in value ? value.type : undefined;
    const check = typeof type === "string" ? this.#checks.get(type) : undefined;
    if (check === undefined) return "a frame has an unknown type";
    if (!check(value)) {
      const faults = JSON.stringify(check.errors?.map(({ instancePath, message }) => [instancePath, message]));
      return `a frame of type ${String(type)} does not match its schema: ${faults.slice(0, 200)}`;
    }
    return value as Message | Part; // as just validated
  }
}

function isPart(frame: { readonly type: string }): frame is Part {
  return frame.type === "part";
}
