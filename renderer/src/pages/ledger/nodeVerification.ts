import { create } from 'zustand';
import { type LedgerVerification, ledgerVerificationSchema } from '../../../../shared/ledger.ts';
import { call } from '../../api/client.ts';
import { runLocalJob } from '../../state/runLocalJob.ts';

export type NodeVerification =
  /** The owner's: a job of the node, which tells its progress. */
  | { by: 'job'; id: string }
  /** A visitor's: one question, answered when the node is done. */
  | { by: 'request'; state: 'running'; cancel: () => void }
  | { by: 'request'; state: 'done'; result: LedgerVerification }
  | { by: 'request'; state: 'failed'; error: unknown };

interface NodeVerificationState {
  current: NodeVerification | undefined;
  /** Never rejects: what came of it is in `current`. */
  start: (isOwner: boolean) => Promise<void>;
}

/** The verification of the ledger by the node itself, which goes on when the page is left. */
export const useNodeVerification = create<NodeVerificationState>()((set) => ({
  current: undefined,
  start: async (isOwner) => {
    const abort = new AbortController();
    const { signal } = abort;
    try {
      if (isOwner) {
        const job = await call('startLedgerVerification', {});
        return set({ current: { by: 'job', id: job.id } });
      }
      set({ current: { by: 'request', state: 'running', cancel: () => abort.abort() } });
      const result = await runLocalJob(
        { title: 'The node verifies its ledger', unit: 'entries', href: '/ledger', abort },
        () => call('verifyLedger', { signal }),
      );
      set({ current: { by: 'request', state: 'done', result } });
    } catch (error) {
      set({ current: signal.aborted ? undefined : { by: 'request', state: 'failed', error } });
    }
  },
}));

/** The result of a verification that ran as a job. */
export function verificationOf(result: unknown): LedgerVerification | undefined {
  const parsed = ledgerVerificationSchema.safeParse(result);
  return parsed.success ? parsed.data : undefined;
}
