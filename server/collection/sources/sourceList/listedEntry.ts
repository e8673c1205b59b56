/** An entry of a list before validation. */
export interface ListedEntry {
  line: number;
  url: string;
  /** The other fields of the source. */
  fields: Record<string, unknown>;
}

/** The list as a whole cannot be read. The message is a sentence for people. */
export class SourceListError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SourceListError';
  }
}
