import type { Connection } from './pairing.ts';

/** What the popup asks of the worker. */
export type PopupMessage =
  | { kind: 'archive'; tabId: number }
  /** The worker was stopped while the person looked at the page that was archived: the new one keeps it back, too. */
  | { kind: 'resume'; id: number }
  /** The person is still there. The browser stops a worker that hears nothing for half a minute. */
  | { kind: 'stay' }
  /** What the person added to the page that was just archived. */
  | { kind: 'change'; note: string; case: string; isQuoted: boolean }
  | { kind: 'send' }
  | { kind: 'discard'; id: number }
  | { kind: 'retry'; id: number };

/** What the popup shows. */
export interface PopupState {
  /** The name of the paired node; null if there is none. */
  node: string | null;
  connection: Connection['state'];
  cases: Connection['cases'];
  isArchiving: boolean;
  /** Why the page could not be archived; empty if it was. */
  error: string;
  /** The entry of the page that was just archived, which may have been sent since; null if there is none. */
  archived: number | null;
  entries: ShownEntry[];
}

export interface ShownEntry {
  id: number;
  kind: 'page' | 'watch';
  url: string;
  error: string;
  isRefused: boolean;
  quote?: string;
  case?: string;
  missing?: number;
  hasPicture?: boolean;
}
