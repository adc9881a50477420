/** The transport of a link's frames: a WebSocket on one side, the link's server on the other. */

/** A WebSocket, or a fake in tests. */
export interface LinkTransport {
  /** @param sent called when the text was sent or can no longer be sent */
  send(text: string, sent: () => void): void;
  /** Bytes that are not sent yet. */
  readonly bufferedBytes: number;
  /** Stops reading. Frames that were read already may still be received. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  /** Closes the connection without waiting for the other side. */
  terminate(): void;
}

/** Receives the events of an open connection from its transport. */
export interface LinkReceiver {
  received(text: string): void;
  /** Whether the agent is not admitted yet, so that its data is limited. */
  readonly isPending: boolean;
  /** Received data that is not text, or is too long. */
  violated(): void;
  closed(): void;
}

/** Accepts links of one kind. `Presented` identifies the owner of a link. */
export interface LinkListener<Presented = unknown> {
  /** @throws AppError the kind's error for an invalid token; too_many_links, database_unavailable */
  authenticate(token: string): Promise<Presented>;
  /**
   * @param sourceAddress source address of the connection; arbitrary if the connection is already closed
   * @param subprotocol the subprotocol that the server has selected
   */
  open(presented: Presented, transport: LinkTransport, sourceAddress: string, subprotocol: string): LinkReceiver;
}
