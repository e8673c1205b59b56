/** A file in the draft. */
export interface DraftFile {
  id: string;
  path: string;
  mediaType: string;
  bytes: number;
  /** Undefined if the browser could not store the contents; the file must be added again. */
  file: File | undefined;
  sha256: string | undefined;
  /** Bytes hashed so far. */
  hashed: number;
  error: string | undefined;
}
