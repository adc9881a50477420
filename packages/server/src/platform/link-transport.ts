/** The boundary between the WebSockets of agents (`http/`) and the channels that serve them (`agents/`). */

/** A WebSocket, or its substitute in a test. */
export interface LinkTransport {
  /** @param sent called when the text was sent, or cannot be sent any more */
  send(text: string, sent: () => void): void;
  /** The number of bytes that are not sent yet. */
  readonly bufferedBytes: number;
  close(code: number, reason: string): void;
  /** Ends the connection without waiting for the other side. */
  terminate(): void;
}

/** Receives the events of an open connection. */
export interface LinkReceiver {
  received(text: string): void;
  /** A binary message or one that is too long arrived. */
  violated(): void;
  closed(): void;
}

/** Serves the connections of one kind of agent. `Presented` identifies the agent. */
export interface LinkListener<Presented = unknown> {
  /** @throws AppError the kind's own if the token is not valid; too_many_links, database_unavailable */
  authenticate(token: string): Promise<Presented>;
  /** @param sourceAddress the address that the agent connected from; arbitrary if the connection is already closed */
  open(presented: Presented, transport: LinkTransport, sourceAddress: string): LinkReceiver;
}
