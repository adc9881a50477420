/** The server cannot start: `message` says what is wrong with which value, `remedy` what to do about it. */
export class StartError extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
    this.remedy = remedy;
  }
}
