/** A file in the draft. */
export interface DraftFile {
  id: string;
  path: string;
  mediaType: string;
  bytes: number;
  /** Undefined for a file of the node, and if the browser could not store the contents: then the file must be added again. */
  file: File | undefined;
  /** Whether the node has the contents: in its draft, or as a file of the previous version. */
  isStored: boolean;
  /** The path at which the node's draft has this file; undefined until it is saved there. */
  savedPath: string | undefined;
  sha256: string | undefined;
  /** Bytes hashed so far. */
  hashed: number;
  error: string | undefined;
}
