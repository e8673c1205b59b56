import { create } from 'zustand';
import { type LedgerVerification, ledgerVerificationSchema } from '../../../../shared/ledger/ledger.ts';
import { call, readText } from '../../api/client.ts';
import { saveFile } from '../../components/forms/buttons.tsx';
import { runLocalJob } from '../../state/jobs.ts';
import { checkpointFileName, parseCheckpoint } from './checkpoint/compareCheckpoint.ts';

export type NodeVerification =
  /** For the owner: a job with progress. */
  | { by: 'job'; id: string }
  /** For a visitor: a single request. */
  | { by: 'request'; state: 'running'; cancel: () => void }
  | { by: 'request'; state: 'done'; result: LedgerVerification }
  | { by: 'request'; state: 'failed'; error: unknown };

interface NodeVerificationState {
  current: NodeVerification | undefined;
  /** Never rejects: the outcome is in `current`. */
  start: (isOwner: boolean) => Promise<void>;
}

/** The verification by the node. It continues when the page is left. */
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
        { title: 'Verifying on the node', unit: 'entries', href: '/ledger', abort },
        () => call('verifyLedger', { signal }),
      );
      set({ current: { by: 'request', state: 'done', result } });
    } catch (error) {
      set({ current: signal.aborted ? undefined : { by: 'request', state: 'failed', error } });
    }
  },
}));

/** The result of a verification job. */
export function verificationOf(result: unknown): LedgerVerification | undefined {
  const parsed = ledgerVerificationSchema.safeParse(result);
  return parsed.success ? parsed.data : undefined;
}

/** Saves the node's checkpoint as it is: the signed note. Throws ApiProblem or NodeUnreachable. */
export async function saveCheckpoint(): Promise<void> {
  const text = await readText('readCheckpoint');
  const parsed = parseCheckpoint(text);
  if ('refused' in parsed) throw new Error('The node did not return a checkpoint. Try again.');
  saveFile(checkpointFileName(parsed.saved), text, 'text/plain');
}
