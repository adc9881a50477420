/** What carries the frames of a link, and what it tells of them: a WebSocket on one side, who serves the link on the other. */

/** A WebSocket, or a test. */
export interface LinkTransport {
  /** @param sent called when the text has left, or cannot any more */
  send(text: string, sent: () => void): void;
  /** Bytes that have not left yet. */
  readonly bufferedBytes: number;
  close(code: number, reason: string): void;
  /** Ends it without waiting for the other side. */
  terminate(): void;
}

/** What an open connection is told by its transport. */
export interface LinkReceiver {
  received(text: string): void;
  /** Something came that is no text, or was too long. */
  violated(): void;
  closed(): void;
}

/** What takes the links of one kind, whatever it does with them. `Presented` says whose link it is. */
export interface LinkListener<Presented = unknown> {
  /** @throws AppError the kind's own for a token that is not valid; too_many_links, database_unavailable */
  authenticate(token: string): Promise<Presented>;
  /** @param sourceAddress where the connection comes from; of one that is gone already, anything */
  open(presented: Presented, transport: LinkTransport, sourceAddress: string): LinkReceiver;
}
