/** Space, or an amount of a budget, that is held until the rows that count it are committed or refused. */
export interface Reservation {
  /** Releases what is still held; calling it again does nothing. */
  release(): void;
}

export interface WriteOptions {
  /** Waits briefly for other changes, to share the commit with them. */
  batched?: boolean;
  /**
   * Released in the turn of the event loop in which readers begin to see the change, so that the amount is neither
   * missed nor counted twice. If the change fails, its caller releases it.
   */
  reservation?: Reservation | undefined;
}
