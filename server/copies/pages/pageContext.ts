import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import type { CompareVersions } from './diff/compareVersions.ts';

/** What all pages of a copy depend on. */
export interface PageContext {
  database: ReadDatabase;
  /** The name of the node. */
  node: string;
  /** The verifier key of the node (C2SP signed-note). */
  key: string;
  /** The signed checkpoint that the pages belong to. */
  note: string;
  /** The size of the ledger that the pages show. Nothing that a later entry recorded is shown. */
  size: number;
  /** The address under which readers find the copy, with a slash at its end; null if the owner named none. */
  publicUrl: string | null;
  /** Whether the copy holds an object. */
  holds: (sha256: string) => boolean;
  compare: CompareVersions;
}

/** A file that readers see. */
export interface Page {
  path: string;
  bytes: Buffer;
  type: string;
}

const HTML = 'text/html; charset=utf-8';
export const JSON_TYPE = 'application/json';

export function textPage(path: string, text: string, type = HTML): Page {
  return { path, bytes: Buffer.from(text), type };
}
