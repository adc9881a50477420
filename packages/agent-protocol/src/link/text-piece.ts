/** A piece of a message's JSON text. Messages share pieces, so that each piece is encoded once. */
export class TextPiece {
  readonly text: string;
  #escaped: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** The text inside of a JSON string, without quotation marks: the form in which parts of a message contain it. */
  get escaped(): string {
    this.#escaped ??= JSON.stringify(this.text).slice(1, -1);
    return this.#escaped;
  }
}
