/** What an entry of a list says, before anybody looked whether it may. */
export interface ListedEntry {
  line: number;
  url: string;
  /** The further fields of a source. */
  said: Record<string, unknown>;
}

/** The list as a whole cannot be read; the message is a sentence. */
export class SourceListError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SourceListError';
  }
}
