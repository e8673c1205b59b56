import type { MementoImport } from '../../../../../shared/collection/captures.ts';

/** The form's fields as text. */
export interface CaptureDraft {
  from: 'file' | 'timemap';
  observer: string;
  /** Kept only while the page is open: sessionStorage cannot hold a file. */
  file: File | null;
  timemap: string;
  /** Dates, `2026-11-20`, or empty. */
  since: string;
  until: string;
  /** A number, or empty for the node's default. */
  limit: string;
  ignoreRobots: boolean;
}

/** Who made the captures, and where to import them from. */
export type CaptureImport = { observer: string } & ({ file: File } | { timeMap: MementoImport });
