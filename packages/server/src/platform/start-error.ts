/** The server cannot start. `message` states the problem with the value, `remedy` what to do. */
export class StartError extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
    this.remedy = remedy;
  }
}
