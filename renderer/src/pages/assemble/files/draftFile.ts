/** A file in the draft. */
export interface DraftFile {
  id: string;
  path: string;
  mediaType: string;
  bytes: number;
  /** Undefined for a stored file, and if the browser could not store the contents: then the file must be added again. */
  file: File | undefined;
  /** Whether the archive has the contents, as a file of the previous version. */
  isStored: boolean;
  sha256: string | undefined;
  /** Bytes hashed so far. */
  hashed: number;
  error: string | undefined;
}
