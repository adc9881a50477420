/** An event loop whose clock the tests control. */
export class FakeEventLoop {
  now = 0;
  active = 0;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  nowMs = () => this.now;
  activeMs = () => this.active;
  after = (ms: number, callback: () => void) => void this.#timers.push({ at: this.now + ms, callback });

  /** @param share the part of the time for which the event loop is active */
  pass(ms: number, share = 1): void {
    this.now += ms;
    this.active += ms * share;
    const due = this.#timers.filter(({ at }) => at <= this.now);
    this.#timers = this.#timers.filter(({ at }) => at > this.now);
    for (const { callback } of due) callback();
  }
}
